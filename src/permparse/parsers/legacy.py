"""Keys of earlier versions: renamed, retired, or with other values today. Old recipes, records and parsers still load.

A retired key is dropped if it holds the value that is now built in. Any other value is refused in words, since the
recipe would no longer mean what it meant; but what mattered to training alone does not keep a trained parser from
loading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from permparse.base.errors import UserError
from permparse.base.settings import Table, merged, nested

_TRAINING = ("epochs", "batch", "lr", "schedule", "averaging", "select", "patience", "evaluate_every")
_STAGES = {"stage1": "tagger", "stage2": "scorer"}

RENAMED: dict[str, str] = {
    "surprise": "surprise_weight",
    **{f"{old}.{key}": f"{new}.training.{key}" for old, new in _STAGES.items() for key in _TRAINING},
    "stage1.hint": "tagger.hints.kind",
    "stage1.hint_threshold": "tagger.hints.threshold",
    "stage1.hint_weight": "tagger.hints.weight",
    "stage1.hint_epochs": "tagger.hints.epochs",
    "stage2.temperature_power": "scorer.training.temperature_power",
    "stage2.annotation": "scorer.training.annotation",
    "stage2.temperature": "scorer.temperature",
    "stage2.score_limit": "scorer.score_limit",
}
"""Version 0.1 → today."""

REVALUED: dict[str, dict[str, str]] = {f"{stage}.select": {"dev": "best", "longest": "best"} for stage in _STAGES}
"""Values of version 0.1 that have another name today, by the old key; "longest" has become a setting of the data."""

RETIRED: dict[str, Any] = {
    "data.kinds": False,
    **{
        f"{network}.encoder.{key}": value
        for network in _STAGES.values()
        for key, value in {"heads": 4, "static": True, "drop_all": False}.items()
    },
    "scorer.max_copies": 8,
    "scorer.saturation": 14.0,
    "scorer.geometric": True,
    "scorer.type_rank": 0,
    "scorer.state_rank": 0,
    **{
        f"{stage}.{key}": value
        for stage in _STAGES
        for key, value in {
            "final_lr": 0.01,
            "warmup": 0.03,
            "weight_decay": 0.0,
            "gradient_norm": 3.0,
            "held_out": 0.03,
            "evaluate_examples": 500,
        }.items()
    },
    "scorer.temperature": 1.0,
    "stage2.tolerance": 1e-3,
    "stage2.max_sweeps": 150,
    "scorer.score_limit": 50.0,
}
"""Keys of version 0.1 that no result needed, with the value that is built in today."""

DROPPED = frozenset(["checkpoint_seconds"])
"""Keys of version 0.1 that never changed a result."""

ATIS_TYPES = (
    (r"_(from|to|stop|to_city|loc:_t|services)_2", "city_name"),
    (r"_from_airport_2", "airport_code"),
    (r"_(airline_2|services_1)", "airline_code"),
    (r"_.*(?<!elapsed_)time_2", "time"),
    (r"_(after_|before_)?day(_arrival|_return)?_2", "day"),
    (r"_day_number(_arrival|_return)?_2", "day_number"),
    (r"_month(_arrival|_return)?_2", "month"),
    (r"_during_day(_arrival)?_2", "day_period"),
    (r"_class_type_2", "class_description"),
    (r"_([<>]_)?fare_2", "dollar"),
    (r"_meal_2", "meal_description"),
    (r"_flight_number_2", "flight_number"),
    (r"_fare_basis_code_2", "fare_basis_code"),
    (r"_aircraft_2|_capacity", "aircraft_code"),
    (r"_year_2", "year"),
)
"""The types that parsers of ATIS left out by a table before they learned it; those parsers alone still need it."""

WEIGHTS = (("source.encoder.", "encoder."), ("source.", "encoder."))
"""How the names of weights began in version 0.1, and how they begin today."""


def modernised(table: Mapping[str, Any], where: str, trained: bool = False) -> Table:
    """A recipe as it is read, by the keys of today; ``trained``: of a parser that needs no training any more."""
    result: Table = {}
    for key, value in _flat(table):
        new = modern_key(key)
        if key in DROPPED or (trained and key in RETIRED and key.startswith(tuple(_STAGES))):
            continue
        if new in RETIRED:
            if value != RETIRED[new]:
                raise UserError(
                    f"{where}: {key} = {value!r} is no longer possible: the setting was retired at {RETIRED[new]!r}"
                )
            continue
        if key in REVALUED and isinstance(value, str):
            if value == "longest":
                result = merged(result, {"data": {"validation": "longest"}})
            value = REVALUED[key].get(value, value)
        result = merged(result, nested(new, value))
    return result


def modern_key(key: str) -> str:
    """The name that a key has today; one that never was is looked for where its stage is trained."""
    stage, _, rest = key.partition(".")
    if key in RENAMED or key in RETIRED or stage not in _STAGES:
        return RENAMED.get(key, key)
    return f"{_STAGES[stage]}.training.{rest}" if rest else key


def modern_weight(name: str) -> str:
    """The name that a weight has today."""
    for old, new in WEIGHTS:
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def old_knowledge(task: str, symbols: Iterable[str]) -> dict[str, str]:
    """What the task of a parser knew by itself before tasks learned from examples."""
    if not task.startswith("atis-"):
        return {}
    matches = ((symbol, kind) for symbol in symbols for pattern, kind in ATIS_TYPES if re.fullmatch(pattern, symbol))
    return dict(reversed(list(matches)))


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its full key. The options of a task are one value, and an empty table is one, too."""
    for key, value in table.items():
        full = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and full != "data.options":
            yield from _flat(value, f"{full}.")
        else:
            yield full, value
