"""The entropy weight τ of the relaxed problem, stated once and applied once (section 4.1 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass


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

    def __call__(self, n: int) -> float:
        return self.scale * math.log(max(n, 2)) ** -self.power
