"""Classes by name: one of ours, one from a user's own module, or one that an installed package offers.

Tasks, parsers and encoders are found this way, so that each can be added without touching this package.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

from permparse.base.errors import UserError, nearest


def find_class(name: str, ours: Mapping[str, str], kind: str, group: str | None = None, base: type = object) -> type:
    """The class called ``name``, a subclass of ``base``: a key of ``ours``, a path `module:Class`, or an entry point of
    ``group``.

    ``ours`` maps names to such paths; ``kind`` says what is looked for, in a message. A user's module may lie in the
    current folder. Its code is run, so modules of the standard library, which hold no such class, are refused unread.
    """
    path = ours.get(name)
    if path is None and ":" in name:
        path = name
    if path is None and group is not None:
        path = next((point.value for point in entry_points(group=group) if point.name == name), None)
    if path is None:
        raise UserError(f"no {kind} is called {name!r}; {nearest(name, ours)} (or give its path, module:Class)")
    found = _attribute(path, kind)
    if not isinstance(found, type) or not issubclass(found, base):
        wanted = f"a subclass of permparse.{base.__name__}" if isinstance(found, type) else "a class"
        raise UserError(f"the {kind} {name!r}: expected {wanted}, found {found!r:.100}")
    return found


def installed_names(group: str) -> list[str]:
    """The names that installed packages offer in an entry-point group."""
    return sorted(point.name for point in entry_points(group=group))


def _attribute(path: str, kind: str) -> object:
    module_name, _, attribute = path.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".") + attribute.split(".")):
        raise UserError(f"the {kind} {path!r}: expected module:Class")
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise UserError(f"the {kind} {path!r}: {module_name} belongs to Python itself; name a module of your own")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: object = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise UserError(f"the {kind} {path!r}: its module cannot be imported ({error})") from error
    except AttributeError as error:
        raise UserError(f"the {kind} {path!r}: {module_name} has no {attribute!r}") from error
    return found
