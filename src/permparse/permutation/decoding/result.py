"""What decoding returns: an order, its score, and how good it is known to be.

The bound is what makes a result worth trusting: no order of the problem scores more.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decoded:
    """One order of the tokens of one example.

    In a list of the k best, ``bound`` and ``proven_optimal`` of the entry at rank r speak of the r-th best
    order.
    """

    order: list[int]
    """``order[j]`` is the token at position j."""
    score: float
    """The score of the order, summed in float64."""
    bound: float
    """No order scores more than this (up to rounding)."""
    proven_optimal: bool
    """Whether ``bound`` was met up to rounding (of a method that counts in integers: to its precision)."""

    @property
    def gap(self) -> float:
        """How much better than ``score`` the best order can be at most."""
        return self.bound - self.score
