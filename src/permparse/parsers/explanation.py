"""How sure a parser was at every step of a parse: what the page and the pictures show beside the parse itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Doubt:
    """A place where a parser is unsure, and why.

    ``at`` is the index of a word for the kinds "unknown" and "multiset", an output position for "jump"; -1 if the doubt
    is about the whole output.
    """

    kind: Literal["unknown", "multiset", "jump", "order", "output"]
    at: int
    message: str


@dataclass(frozen=True)
class Explanation:
    """The figures behind a parse.

    ``word_probs[i]`` is the probability of the multiset of word i; ``step_probs`` has one entry for the start, one for
    each jump and one for the end, each among its alternatives. ``u[i][j]`` is U*, the weight of token i (in canonical
    order) at output position j, ``jump_marginals[k][i]`` the weight of i directly following k; both are empty for more
    tokens than a picture can show. ``seconds`` is what each stage took for this sentence alone.
    """

    word_probs: tuple[float, ...]
    step_probs: tuple[float, ...]
    u: Matrix
    jump_marginals: Matrix
    converged: bool
    doubts: tuple[Doubt, ...]
    seconds: Mapping[str, float]


def rounded(rows: Sequence[Sequence[float]], digits: int = 4) -> Matrix:
    """A matrix with few digits, as it travels to a page."""
    return tuple(tuple(round(value, digits) for value in row) for row in rows)
