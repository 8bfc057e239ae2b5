"""Relations between kinds of output tokens, stored as tables, to look up many tokens at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from permparse.text.kinds import Kinds

Pair = tuple[str, str]


class KindPairs:
    """Which of some relations, each a set of pairs of kinds, hold between tokens.

    *Shapes:* ``tables`` [r, k, k], by relation and by the numbers of two kinds. A kind in no pair has number 0.
    """

    def __init__(self, kinds: Kinds, *relations: Collection[Pair]) -> None:
        self._kinds = kinds
        related = sorted({kind for pairs in relations for pair in pairs for kind in pair})
        self._number = {kind: number for number, kind in enumerate(related, 1)}
        self.tables = np.zeros((len(relations), len(related) + 1, len(related) + 1), dtype=bool)
        for table, pairs in zip(self.tables, relations, strict=True):
            for first, second in pairs:
                table[self._number[first], self._number[second]] = True

    def numbers(self, tokens: Sequence[str], *kinds: str) -> np.ndarray:
        """The numbers of the kinds of tokens, then those of ``kinds``."""
        number, kind = self._number.get, self._kinds.of
        return np.array([*[number(kind(token), 0) for token in tokens], *[number(of, 0) for of in kinds]], np.intp)
