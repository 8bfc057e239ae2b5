"""A search space: for every setting that is tuned a list of values, or a span to draw from. Written as TOML.

The keys are those of a recipe: `[tagger.hints]`, `epochs = { low = 5, high = 10 }`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import ValidationError, model_validator
from pydantic_core import PydanticCustomError

from permparse.base.errors import UserError, nearest
from permparse.base.settings import Section, as_toml, first_mistake, read_toml

Value = str | int | float | bool
Settings = dict[str, Value]
"""A point of a space: the value of every setting, by its full key."""


class Span(Section):
    """Numbers from ``low`` to ``high``, whole ones if both are."""

    low: int | float
    high: int | float
    log: bool = False
    """Draw the logarithm evenly, not the number."""
    step: int | float | None = None
    """Take only numbers that are a multiple of this above ``low``."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low >= self.high:
            raise PydanticCustomError("span", "expected low < high")
        if self.log and (self.low <= 0 or self.step is not None):
            raise PydanticCustomError("span", "expected low > 0 and no step with log = true")
        if self.step is not None and not 0 < self.step <= self.high - self.low:
            raise PydanticCustomError("span", "expected a step between 0 and high - low")
        return self

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, share: float) -> Value:
        """The number below which this share of the span lies, 0 ≤ share < 1."""
        step = self.step or (1 if self.whole and not self.log else None)
        if step is not None:
            steps = math.floor((self.high - self.low) / step + 1e-9) + 1
            return self.low + step * math.floor(share * steps)
        width = self.high - self.low
        number = self.low * (self.high / self.low) ** share if self.log else self.low + width * share
        # Four digits are as good to a network, and a recipe that people read is better for it.
        return round(number) if self.whole else float(f"{number:.4g}")


@dataclass(frozen=True)
class Choices:
    """One of a few values."""

    values: tuple[Value, ...]

    def at(self, share: float) -> Value:
        """The value in the middle of which this share lies, 0 ≤ share < 1."""
        return self.values[math.floor(share * len(self.values))]


@dataclass(frozen=True)
class Space:
    """What is tuned, by the key of the setting."""

    dimensions: Mapping[str, Span | Choices]

    def sample(self, seed: int, number: int) -> Settings:
        """A random point: a function of the seed and its number, so that it is the same after an interruption."""
        shares = np.random.default_rng([seed, number]).random(len(self.dimensions))
        return {key: of.at(float(share)) for (key, of), share in zip(self.dimensions.items(), shares, strict=True)}

    def corners(self) -> list[Settings]:
        """The first and the last value of everything: a mistake in the file shows there."""
        return [{key: of.at(share) for key, of in self.dimensions.items()} for share in (0.0, math.nextafter(1.0, 0.0))]


def as_overrides(settings: Settings) -> tuple[str, ...]:
    """A point of a space as changes of a recipe."""
    return tuple(f"{key}={as_toml(value)}" for key, value in settings.items())


def read_space(name: str) -> Space:
    """A space by name (one that comes with the package) or by path (a TOML file)."""
    path = Path(name)
    if name in space_names():
        text, where = (_folder() / f"{name}.toml").read_text(encoding="utf-8"), f"space {name}"
    elif not path.is_file():
        raise UserError(f"no space {name!r}: {nearest(name, space_names())} (or give the path of a .toml file)")
    else:
        try:
            text, where = path.read_text(encoding="utf-8"), name
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    space = Space(dict(_dimensions(read_toml(text, where), where)))
    if not space.dimensions:
        raise UserError(f"{where}: names no setting; expected some, such as scorer.training.lr = [1e-3, 2e-3]")
    return space


def space_names() -> list[str]:
    """The spaces that come with the package."""
    return sorted(path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml"))


def _folder() -> Any:
    return resources.files("permparse") / "spaces"


def _dimensions(table: Mapping[str, Any], where: str, above: str = "") -> Iterator[tuple[str, Span | Choices]]:
    for name, value in table.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and {"low", "high"} & value.keys():
            try:
                yield key, Span.model_validate(value)
            except ValidationError as error:
                raise UserError(f"{where}: {key}: {first_mistake(error)}") from error
        elif isinstance(value, Mapping):
            yield from _dimensions(value, where, f"{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, Value) for one in value):
            yield key, Choices(tuple(value))
        else:
            raise UserError(f"{where}: {key}: expected a list of values or {{ low = …, high = … }}, got {value!r:.100}")
