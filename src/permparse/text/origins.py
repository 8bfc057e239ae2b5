"""Which kinds of output tokens follow each other only if they come from the same word, and which only if they do not.

In `eat agent 2 1` the 2 is the predicate's own position, and two numbers in a row come from different words. If this
holds for all training outputs, predicted orders should respect it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from permparse.text.kind_pairs import KindPairs, Pair
from permparse.text.kinds import Kinds

OFTEN = 100
"""How often kinds must follow each other if it is to mean anything that the words were always, or never, the same."""

NOWHERE = -1
"""The position of a token of which no word is known to be its own."""


@dataclass(frozen=True)
class Origins:
    """Pairs of kinds that follow each other only ``within`` a word, or only ``between`` words."""

    kinds: Kinds = field(default_factory=Kinds)
    within: frozenset[Pair] = frozenset()
    between: frozenset[Pair] = frozenset()

    @classmethod
    def learn(cls, outputs: Iterable[tuple[Sequence[str], Sequence[int]]], kinds: Kinds) -> Origins:
        """From the tokens of training outputs, each with the position of its word where that is certain, else
        NOWHERE."""
        same, different = Counter[Pair](), Counter[Pair]()
        for tokens, positions in outputs:
            of_tokens = map(kinds.of, tokens)
            for pair, (first, second) in zip(pairwise(of_tokens), pairwise(positions), strict=True):
                if NOWHERE not in (first, second):
                    (same if first == second else different)[pair] += 1
        within = frozenset(pair for pair, count in same.items() if count >= OFTEN and pair not in different)
        between = frozenset(pair for pair, count in different.items() if count >= OFTEN and pair not in same)
        return cls(kinds, within, between)

    def apart(self, tokens: Sequence[str], positions: np.ndarray) -> np.ndarray | None:
        """Whether token i must not come directly before token k, with a row for the start and a column for the end;
        None if all may. *Shape:* [n + 1, n + 1]."""
        if not tokens or not (self.within or self.between):
            return None
        certain, same, n = positions != NOWHERE, positions[:, None] == positions, len(tokens)
        of = self._pairs.numbers(tokens)
        only_within, only_between = self._pairs.tables[:, of[:, None], of]
        found = np.zeros((n + 1, n + 1), dtype=bool)
        found[:n, :n] = np.where(same, only_between, only_within) & certain & certain[:, None]
        return found

    @cached_property
    def _pairs(self) -> KindPairs:
        return KindPairs(self.kinds, self.within, self.between)
