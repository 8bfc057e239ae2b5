"""Tasks by name, with their options checked."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields

from permparse.errors import UserError, nearest
from permparse.tasks.atis import Atis
from permparse.tasks.base import Task
from permparse.tasks.cogs import Cogs
from permparse.tasks.doubling import Doubling
from permparse.tasks.fragment import Fragment
from permparse.tasks.okapi import Okapi
from permparse.tasks.tsv import Tsv

_TASKS: dict[str, tuple[type[Task], Mapping[str, str]]] = {
    "doubling": (Doubling, {}),
    "fragment": (Fragment, {}),
    "cogs": (Cogs, {}),
    "atis-iid": (Atis, {"kind": "iid"}),
    "atis-length": (Atis, {"kind": "length"}),
    "okapi-calendar": (Okapi, {"domain": "calendar"}),
    "okapi-document": (Okapi, {"domain": "document"}),
    "okapi-email": (Okapi, {"domain": "email"}),
    "tsv": (Tsv, {}),
}


@dataclass(frozen=True)
class Option:
    """An option of a task: what it means and what it is if not set."""

    name: str
    default: object
    help: str


def task_names() -> tuple[str, ...]:
    """All names that `get_task` knows."""
    return tuple(_TASKS)


def task_options(name: str) -> tuple[Option, ...]:
    """The options of a task, in order."""
    cls, _ = _find(name)
    return tuple(
        Option(f.name, None if f.default is MISSING else f.default, f.metadata["help"])
        for f in fields(cls)  # type: ignore[arg-type]
        if "help" in f.metadata
    )


def get_task(name: str, **options: object) -> Task:
    """The task of that name with these options; UserError, with the nearest valid name, if there is none."""
    cls, fixed = _find(name)
    known = {option.name: option for option in task_options(name)}
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise UserError(f"the task {name} has no option {key!r}; {nearest(key, known)}")
        checked[key] = _checked(name, known[key], value)
    return cls(**fixed, **checked)


def _find(name: str) -> tuple[type[Task], Mapping[str, str]]:
    if name not in _TASKS:
        raise UserError(f"no task is called {name!r}; {nearest(name, _TASKS)}")
    return _TASKS[name]


def _checked(task: str, option: Option, value: object) -> object:
    """The value if it is of the option's type; a list of words may stand for a set of words."""
    default = option.default
    if isinstance(default, frozenset) and isinstance(value, (list, tuple, set, frozenset)):
        return frozenset(str(word) for word in value)
    kind = str if default is None else type(default)
    if type(value) is kind or (default is None and value is None):
        return value
    raise UserError(
        f"the option {option.name} of the task {task} must be {kind.__name__}, got {value!r} ({option.help})"
    )
