"""Words that always occur together in outputs, such as *one hour ago* or *anyone in my organization*, stay together.

A word is bound to the words after it if it is frequent in outputs, if only few other words ever follow it, and if these
are input words, as it is itself. So values of several words stay together, while a value may follow any operator.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from permparse.text.trigrams import END, START

OFTEN = 5
"""A word is bound if it was seen so many times for every one that was next to it."""

Neighbours = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Companions:
    """The tokens that may come directly after, and directly before, a token that is bound to them."""

    after: Neighbours = field(default_factory=dict)
    before: Neighbours = field(default_factory=dict)

    @classmethod
    def learn(cls, outputs: Iterable[Sequence[str]], inputs: Iterable[Sequence[str]]) -> Companions:
        """From the tokens of training outputs and the words of their inputs."""
        words = {word.lower() for sentence in inputs for word in sentence}
        after: dict[str, Counter[str]] = defaultdict(Counter)
        before: dict[str, Counter[str]] = defaultdict(Counter)
        for output in outputs:
            padded = [START, *output, END]
            for first, second in pairwise(padded):
                after[first][second] += 1
                before[second][first] += 1
        return cls(_bound(after, words), _bound(before, words))

    def apart(self, tokens: Sequence[str]) -> np.ndarray | None:
        """Whether token i must not come directly before token k, with a row for the start and a column for the end;
        None if no token is bound. *Shape:* [n + 1, n + 1]."""
        if self.after.keys().isdisjoint(tokens) and self.before.keys().isdisjoint(tokens):
            return None
        count = len(tokens)
        found = np.zeros((count + 1, count + 1), dtype=bool)
        for i, token in enumerate(tokens):
            if token in self.after:
                found[i] |= [other not in self.after[token] for other in (*tokens, END)]
            if token in self.before:
                found[:, i] |= [other not in self.before[token] for other in (*tokens, START)]
        return found if found.any() else None

    def to_json(self) -> dict[str, dict[str, list[str]]]:
        """Plain JSON for a checkpoint."""
        sides = {"after": self.after, "before": self.before}
        return {side: {token: sorted(of[token]) for token in sorted(of)} for side, of in sides.items()}

    @classmethod
    def from_json(cls, state: Mapping[str, Mapping[str, Sequence[str]]]) -> Companions:
        """The inverse of `to_json`."""
        after, before = ({token: frozenset(of) for token, of in state[side].items()} for side in ("after", "before"))
        return cls(after, before)


def _bound(neighbours: Mapping[str, Counter[str]], words: set[str]) -> dict[str, frozenset[str]]:
    """Of all tokens those that are bound to their neighbours: words of inputs, all of them."""
    return {
        token: frozenset(of)
        for token, of in neighbours.items()
        if token.lower() in words and of.total() >= OFTEN * len(of) and all(other.lower() in words for other in of)
    }
