"""Freq, Seq and Seq/Freq: the paper's breakdown of an accuracy into its two stages.

Freq: the multiset of tokens is right; Seq: the output is; Seq/Freq: right outputs among right multisets.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Breakdown:
    """Shares of n examples, from 0 to 1; nan where there is nothing to divide by."""

    n: int
    freq: float
    seq: float
    seq_given_freq: float


def multiset_match(predicted: Sequence[str], gold: Sequence[str]) -> bool:
    """The same tokens equally often, in whatever order."""
    return Counter(predicted) == Counter(gold)


def breakdown(multiset_right: Sequence[bool], output_right: Sequence[bool]) -> Breakdown:
    """Shares over examples, given for each whether its multiset and whether its output is right."""
    n = len(multiset_right)
    if len(output_right) != n:
        raise ValueError(f"expected one verdict per example for both, got {n} and {len(output_right)}")
    both = sum(a and b for a, b in zip(multiset_right, output_right, strict=True))
    return Breakdown(n, _share(sum(multiset_right), n), _share(sum(output_right), n), _share(both, sum(multiset_right)))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
