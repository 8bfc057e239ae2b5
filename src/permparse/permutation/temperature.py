"""The entropy weight τ of the relaxed problem, stated once and applied once (section 4.1 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real


@dataclass(frozen=True)
class Temperature:
    """τ(n) = scale · (log n)^-power, with log n never below log 2.

    ``Temperature()`` is the paper's 1 / log n; ``Temperature(0.1, 2)`` is 1 / (10 log² n), what the authors' code uses
    at test time; ``Temperature(0.5, 0)`` is the constant 0.5.
    """

    scale: float = 1.0
    power: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"temperature scale: expected a positive number, got {self.scale}")
        if not math.isfinite(self.power):
            raise ValueError(f"temperature power: expected a finite number, got {self.power}")

    @staticmethod
    def of(value: Temperature | float) -> Temperature:
        """A temperature as it is; a plain number as the constant temperature of that value."""
        if isinstance(value, Temperature):
            return value
        if not isinstance(value, Real) or isinstance(value, bool):
            raise ValueError(f"temperature: expected a positive number or a Temperature, got {value!r}")
        return Temperature(float(value), 0.0)

    def __call__(self, n: int) -> float:
        return self.scale * math.log(max(n, 2)) ** -self.power
