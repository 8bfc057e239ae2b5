"""Tasks by name, with their options checked: ours, one of a user's own module, or one of an installed package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass

from permparse.base.errors import UserError, nearest
from permparse.base.plugins import find_class, installed_names
from permparse.tasks.base import Task

ENTRY_POINTS = "permparse.tasks"
_TASKS: dict[str, tuple[str, Mapping[str, str]]] = {
    "doubling": ("permparse.tasks.doubling:Doubling", {}),
    "fragment": ("permparse.tasks.fragment:Fragment", {}),
    "cogs": ("permparse.tasks.cogs:Cogs", {}),
    "atis-iid": ("permparse.tasks.atis:Atis", {"kind": "iid"}),
    "atis-length": ("permparse.tasks.atis:Atis", {"kind": "length"}),
    "okapi-calendar": ("permparse.tasks.okapi:Okapi", {"domain": "calendar"}),
    "okapi-document": ("permparse.tasks.okapi:Okapi", {"domain": "document"}),
    "okapi-email": ("permparse.tasks.okapi:Okapi", {"domain": "email"}),
    "tsv": ("permparse.tasks.tsv:Tsv", {}),
}
"""Class and fixed fields of our own tasks."""


@dataclass(frozen=True)
class Option:
    """An option of a task: what it means and what it is if not set."""

    name: str
    default: object
    help: str


def task_names() -> tuple[str, ...]:
    """The names that `get_task` knows: ours, and those of installed packages."""
    return (*_TASKS, *installed_names(ENTRY_POINTS))


def task_class(name: str) -> type[Task]:
    """The class of a task: by its name, or by its path, module:Class."""
    return find_class(name, {known: path for known, (path, _) in _TASKS.items()}, "task", ENTRY_POINTS, Task)


def task_options(name: str) -> tuple[Option, ...]:
    """The options of a task, in order: the fields of its dataclass that have a help text."""
    cls = task_class(name)
    described: list[Field[object]] = [f for f in fields(cls) if "help" in f.metadata] if is_dataclass(cls) else []
    return tuple(Option(f.name, None if f.default is MISSING else f.default, f.metadata["help"]) for f in described)


def get_task(name: str, **options: object) -> Task:
    """The task of that name with these options; UserError, with the nearest valid name, if there is none."""
    cls = task_class(name)
    known = {option.name: option for option in task_options(name)}
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise UserError(f"the task {name} has no option {key!r}; {nearest(key, known)}")
        checked[key] = _checked(name, known[key], value)
    _, fixed = _TASKS.get(name, ("", {}))
    return cls(**fixed, **checked)


def _checked(task: str, option: Option, value: object) -> object:
    """The value if it is of the option's type; a list of words, or a text of them, may stand for a set of words."""
    default = option.default
    if isinstance(default, frozenset) and isinstance(value, str):
        return frozenset(value.split())
    if isinstance(default, frozenset) and isinstance(value, (list, tuple, set, frozenset)):
        return frozenset(str(word) for word in value)
    kind = str if default is None else type(default)
    if type(value) is kind or (default is None and value is None):
        return value
    raise UserError(
        f"the option {option.name} of the task {task} must be {kind.__name__}, got {value!r} ({option.help})"
    )
