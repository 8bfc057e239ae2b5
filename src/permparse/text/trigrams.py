"""A trigram model of token sequences: how surprising a sequence is, given how often its tokens occur overall.

Smoothed by Witten and Bell's method: P(c | h) = (n(h c) + t(h) P(c | shorter h)) / (n(h) + t(h)), where t(h) is the
number of tokens seen after h.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log

START, END = "<s>", "</s>"
REMEMBERED = 100_000
"""Trigrams whose surprise is kept."""
Gram = tuple[str, ...]


class Trigrams:
    """P(c | a b), P(c | b) and P(c) by counting, each backing off to the next."""

    def __init__(self, counts: Mapping[tuple[str, str, str], int]) -> None:
        """``counts[a, b, c]``: how often c follows a b; sequences begin with START START and end with END."""
        self._trigrams = dict(counts)
        self._surprises: dict[tuple[str, str, str], float] = {}
        self._count: Counter[Gram] = Counter()
        for (a, b, c), count in counts.items():
            self._count[c,] += count
            self._count[b, c] += count
            self._count[a, b, c] += count
        self._total: Counter[Gram] = Counter()
        self._types: Counter[Gram] = Counter()
        for gram, count in self._count.items():
            self._total[gram[:-1]] += count
            self._types[gram[:-1]] += 1

    @classmethod
    def count(cls, sequences: Iterable[Sequence[str]]) -> "Trigrams":
        """The model of these sequences."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for sequence in sequences:
            padded = [START, START, *sequence, END]
            counts.update(zip(padded, padded[1:], padded[2:], strict=False))
        return cls(counts)

    def probability(self, token: str, history: Gram = ()) -> float:
        """P(token | the tokens before it), of which the last two matter. A new token gets what one more type would."""
        estimate = 1 / (self._types[()] + 1)
        for length in range(min(len(history), 2) + 1):
            context = history[len(history) - length :]
            if self._total[context]:
                types = self._types[context]
                estimate = (self._count[*context, token] + types * estimate) / (self._total[context] + types)
        return estimate

    def surprise(self, sequence: Sequence[str]) -> float:
        """Σ max(0, log P(c) - log P(c | a b)) over the sequence and its end: 0 if every token is at least as likely
        after its predecessors as anywhere. So neither a long sequence nor a rare token is surprising in itself."""
        padded = (START, START, *sequence, END)
        return sum(map(self._surprise_of, padded, padded[1:], padded[2:]))

    def _surprise_of(self, a: str, b: str, c: str) -> float:
        """max(0, log P(c) - log P(c | a b)); the same few come again and again."""
        known = self._surprises.get((a, b, c))
        if known is None:
            known = max(0.0, log(self.probability(c)) - log(self.probability(c, (a, b))))
            if len(self._surprises) >= REMEMBERED:
                self._surprises.clear()
            self._surprises[a, b, c] = known
        return known

    def to_json(self) -> list[list[str | int]]:
        """Plain JSON for a checkpoint."""
        return [[*gram, count] for gram, count in self._trigrams.items()]

    @classmethod
    def from_json(cls, rows: Iterable[Sequence[str | int]]) -> "Trigrams":
        """The inverse of `to_json`."""
        return cls({(str(a), str(b), str(c)): int(count) for a, b, c, count in rows})
