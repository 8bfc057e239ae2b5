"""Linear equations between token counts: as many `)` as `IN` and `COUNT` together, one more name than relations.

Words are tagged independently, so the counts of a predicted multiset may violate an equation that holds for every
training output. The equations are learned from the outputs alone, and a multiset that violates one is unlikely.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

LEAST = (2, 3, 5, 10, 20, 40, 80)
"""Outputs in which a token must occur for its number to be counted: the first of these that gives reliable equations.
Rare tokens stand together by accident."""
ENOUGH = 4
"""Outputs for each one in which a token must occur."""
HALVES = 3
"""Random halves of the outputs in which no other equations may hold than in all of them."""
MOST_TOKENS, MOST_COUNTS = 1000, 20_000_000
"""Tokens whose numbers are counted, and counts of tokens in outputs, at most: then rarer tokens count as rare, too."""
LARGEST = 12
"""Coefficients and denominators of an equation at most."""
ROUNDING = 1e-7
SHOWN = 2
"""Equations that are shown when training starts."""


@dataclass(frozen=True)
class Equation:
    """Σ coefficient · count = total."""

    coefficients: Mapping[str, int]
    total: int

    def __str__(self) -> str:
        left = [_term(token, c) for token, c in self.coefficients.items() if c > 0]
        right = [_term(token, -c) for token, c in self.coefficients.items() if c < 0]
        (left if self.total < 0 else right).extend([str(abs(self.total))] if self.total or not right else [])
        return f"{' + '.join(left or ['0'])} = {' + '.join(right)}"


@dataclass(frozen=True)
class Relations:
    """``equations`` hold for the counts of all ``outputs`` training outputs without a ``rare`` token. Multisets with
    such a token are not judged, and of values there may be any number."""

    equations: tuple[Equation, ...] = ()
    rare: frozenset[str] = frozenset()
    outputs: int = 0

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Relations:
        """From the words and the tokens of training examples. A token that always stands beside the same word is a
        value: nothing is said of those, since there will be new ones."""
        counts, in_words = [], Counter[str]()
        for words, tokens in pairs:
            counts.append(Counter(tokens))
            spoken = {word.casefold() for word in words}
            in_words.update(token for token in counts[-1] if token.casefold() in spoken)
        seen = Counter(token for of in counts for token in of)
        operators = {token for token, number in seen.items() if in_words[token] < number}
        for least in LEAST:
            if len(counts) < ENOUGH * least:
                break
            known, used = _frequent(counts, operators, least)
            if not known or len(known) > MOST_TOKENS or len(known) * len(used) > MOST_COUNTS:
                continue
            matrix = _table(known, used)
            if _reliable(matrix):
                return cls(tuple(_equations(known, matrix)), frozenset(operators.difference(known)), len(used))
        return cls()

    def cost(self, tokens: Sequence[str]) -> float:
        """What a multiset that breaks an equation loses in log probability, 0 for all others: by the rule of
        succession, as it would be the first such output, and as much again, since a tagger is too sure where outputs
        are new."""
        return 2 * math.log(self.outputs + 2) if self.broken_by(tokens) else 0.0

    def broken_by(self, tokens: Iterable[str]) -> bool:
        """Whether the counts of these tokens break an equation."""
        if not self.equations:
            return False
        counts = Counter(tokens)
        if not self.rare.isdisjoint(counts):
            return False
        left = self._totals.copy()
        for token, number in counts.items():
            column = self._columns.get(token)
            if column is not None:
                left -= number * column
        return bool(left.any())

    @cached_property
    def _totals(self) -> np.ndarray:
        return np.array([equation.total for equation in self.equations], dtype=np.int64)

    @cached_property
    def _columns(self) -> dict[str, np.ndarray]:
        tokens = {token for equation in self.equations for token in equation.coefficients}
        return {token: np.array([e.coefficients.get(token, 0) for e in self.equations]) for token in tokens}

    def facts(self) -> list[str]:
        """The shortest equations, in words."""
        shown = sorted(map(str, self.equations), key=lambda text: (len(text), text))[:SHOWN]
        more = f", {len(self.equations) - len(shown)} more" if len(self.equations) > len(shown) else ""
        return [f"numbers of tokens: {', '.join(shown)}{more}"] if shown else []

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a checkpoint."""
        equations = [{"coefficients": dict(e.coefficients), "total": e.total} for e in self.equations]
        return {"equations": equations, "rare": sorted(self.rare), "outputs": self.outputs}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Relations:
        """The inverse of `to_json`."""
        equations = tuple(Equation(dict(of["coefficients"]), of["total"]) for of in state["equations"])
        return cls(equations, frozenset(state["rare"]), state["outputs"])


def _term(token: str, coefficient: int) -> str:
    return token if coefficient == 1 else f"{coefficient} {token}"


def _frequent(
    counts: Sequence[Counter[str]], operators: Collection[str], least: int
) -> tuple[list[str], list[Counter[str]]]:
    """The operators in so many outputs, and the outputs without any other operator. Those that only outputs with rare
    ones have are rare as well."""
    known, used = set(operators), list(counts)
    while True:
        seen = Counter(token for of in used for token in of)
        frequent = {token for token in known if seen[token] >= least}
        if frequent == known:
            return sorted(known), used
        rare, known = known - frequent, frequent
        used = [of for of in used if rare.isdisjoint(of)]


def _table(tokens: Sequence[str], counts: Sequence[Counter[str]]) -> np.ndarray:
    """How often each output has each of these tokens."""
    column = {token: i for i, token in enumerate(tokens)}
    cells = [(row, column[token], n) for row, of in enumerate(counts) for token, n in of.items() if token in column]
    matrix = np.zeros((len(counts), len(tokens)), dtype=np.int64)
    rows, columns, numbers = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    matrix[rows, columns] = numbers
    return matrix


def _reliable(matrix: np.ndarray) -> bool:
    """Whether half of the outputs would have given the same equations: accidents are fewer in all of them."""
    chance, rank = np.random.default_rng(0), _rank(matrix)
    halves = (chance.permutation(len(matrix))[: len(matrix) // 2] for _ in range(HALVES))
    return len(matrix) > 1 and all(_rank(matrix[half]) == rank for half in halves)


def _spread(matrix: np.ndarray) -> np.ndarray:
    """How the rows differ from the first one, as a matrix of scalar products."""
    differences = (matrix - matrix[0]).astype(float)
    products: np.ndarray = differences.T @ differences
    return products


def _rank(matrix: np.ndarray) -> int:
    values = np.linalg.eigvalsh(_spread(matrix))
    return int((values > ROUNDING * max(1.0, values[-1])).sum())


def _equations(tokens: Sequence[str], matrix: np.ndarray) -> list[Equation]:
    """Whole-numbered equations, as sparse as elimination makes them, that hold exactly for every row."""
    _, vectors = np.linalg.eigh(_spread(matrix))
    found = []
    for row in _reduced(vectors[:, : len(tokens) - _rank(matrix)].T):
        fractions = [Fraction(value).limit_denominator(LARGEST) for value in row]
        scale = math.lcm(*(fraction.denominator for fraction in fractions))
        whole = np.array([int(fraction * scale) for fraction in fractions], dtype=np.int64)
        totals = matrix @ whole
        if np.abs(whole).max() <= LARGEST and (totals == totals[0]).all():
            found.append(Equation({t: int(c) for t, c in zip(tokens, whole, strict=True) if c}, int(totals[0])))
    return found


def _reduced(rows: np.ndarray) -> np.ndarray:
    """Reduced row echelon form."""
    rows, done = rows.copy(), 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.abs(rows[done:, column]).argmax())
        if abs(rows[pivot, column]) > ROUNDING:
            rows[[done, pivot]] = rows[[pivot, done]]
            rows[done] /= rows[done, column]
            others = np.arange(len(rows)) != done
            rows[others] -= rows[others, column, None] * rows[done]
            done += 1
    return rows[:done]
