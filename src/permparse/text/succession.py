"""Which kinds of output tokens never follow each other, although chance alone would make them do so.

A key is followed by a value, an output begins with a function: if this holds for all training outputs, predicted orders
should respect it. Kinds are broad, all values of one shape are of one kind, so a value may occur in a new position.
Closing brackets may follow each other even if they never do in training: deeper outputs have more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from permparse.text.kind_pairs import KindPairs
from permparse.text.kinds import Kinds
from permparse.text.notation.symbols import END, START

EXPECTED = 10
"""How often kinds would follow each other by chance if what never happens is to mean anything."""


@dataclass(frozen=True)
class Succession:
    """Pairs of kinds that never follow each other; START and END are kinds of their own."""

    kinds: Kinds = field(default_factory=Kinds)
    never: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def learn(cls, outputs: Iterable[Sequence[str]], kinds: Kinds, closing: Collection[str] = ()) -> Succession:
        """From the tokens of training outputs; ``closing`` are the kinds of closing brackets."""
        pairs = Counter(pair for output in outputs for pair in pairwise([START, *map(kinds.of, output), END]))
        first, second = Counter[str](), Counter[str]()
        for (left, right), count in pairs.items():
            first[left] += count
            second[right] += count
        least = EXPECTED * pairs.total()
        never = ((a, b) for a in first for b in second if first[a] * second[b] >= least and not pairs[a, b])
        return cls(kinds, frozenset((a, b) for a, b in never if a not in closing or b not in closing))

    def apart(self, tokens: Sequence[str]) -> np.ndarray | None:
        """Whether token i must not come directly before token k, with a row for the start and a column for the end;
        None if all may. *Shape:* [n + 1, n + 1]."""
        if not self.never:
            return None
        numbers = self._pairs.numbers(tokens, START, END)
        rows, columns = numbers[:-1], np.delete(numbers, -2)
        found: np.ndarray = self._pairs.tables[0][rows[:, None], columns]
        return found

    @cached_property
    def _pairs(self) -> KindPairs:
        return KindPairs(self.kinds, self.never)
