"""New examples from old ones: a span of an example gives way to another span that has stood in the same surroundings.

A span is a run of words whose tokens are a run of the output. *the cake* and *the cake on the table* have both stood
between *saw* and the full stop, and their tokens between `theme` and the end; so one may take the place of the other
wherever it stands, as subject too (after Andreas, 2020, good-enough compositional data augmentation).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

LONGEST = 20
"""Words of a span at most."""
TRIES = 10
"""Draws for each example that is wanted, at most: small or uniform data has little to recombine."""
BOUND = "\0"
"""Stands at both ends of a sentence and of an output."""

Surroundings: TypeAlias = tuple[str, str, str, str]
Content: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
Shape: TypeAlias = tuple[int, int]


class Span(NamedTuple):
    """Words [first, last) whose tokens are the tokens [begin, end)."""

    first: int
    last: int
    begin: int
    end: int

    @property
    def shape(self) -> Shape:
        """How many words and tokens it has."""
        return self.last - self.first, self.end - self.begin


@dataclass(frozen=True)
class Aligned:
    """A sentence and its output: each token with the position of the word it comes from. Positions beyond the last word
    belong to no word, and to no span."""

    words: tuple[str, ...]
    tokens: tuple[str, ...]
    positions: tuple[int, ...]

    @cached_property
    def spans(self) -> list[Span]:
        """All spans but the whole sentence that begin and end with words that have tokens: *to* of *to Emma* says what
        the surroundings ask for, not what the span is."""
        tokens_at: dict[int, list[int]] = defaultdict(list)
        for token, position in enumerate(self.positions):
            tokens_at[position].append(token)
        found = []
        for first in range(len(self.words)):
            inside: list[int] = []
            for last in range(first + 1, min(len(self.words), first + LONGEST) + 1):
                inside += tokens_at[last - 1]
                bounded = tokens_at[first] and tokens_at[last - 1] and last - first < len(self.words)
                if bounded and max(inside) - min(inside) + 1 == len(inside):
                    found.append(Span(first, last, min(inside), max(inside) + 1))
        return found

    def content(self, span: Span) -> Content:
        """The words and the tokens of a span."""
        return self.words[span.first : span.last], self.tokens[span.begin : span.end]

    def surroundings(self, span: Span) -> Surroundings:
        """The words and the tokens on both sides of a span."""
        words, tokens = (BOUND, *self.words, BOUND), (BOUND, *self.tokens, BOUND)
        return words[span.first].lower(), words[span.last + 1].lower(), tokens[span.begin], tokens[span.end + 1]

    def replaced(self, span: Span, other: Aligned, by: Span) -> Aligned:
        """This example with a span of another one in the place of its own."""
        longer = by.shape[0] - span.shape[0]

        def moved(positions: Sequence[int]) -> list[int]:
            return [position if position < span.first else position + longer for position in positions]

        new = [position - by.first + span.first for position in other.positions[by.begin : by.end]]
        words, tokens = other.content(by)
        return Aligned(
            (*self.words[: span.first], *words, *self.words[span.last :]),
            (*self.tokens[: span.begin], *tokens, *self.tokens[span.end :]),
            (*moved(self.positions[: span.begin]), *new, *moved(self.positions[span.end :])),
        )


Place: TypeAlias = tuple[Aligned, Span]


class Recombiner:
    """Examples and what has stood in which surroundings."""

    def __init__(self, examples: Sequence[Aligned], seed: int) -> None:
        self._examples, self._random = list(examples), random.Random(seed)
        self._around: dict[Content, list[Surroundings]] = defaultdict(list)
        self._within: dict[Surroundings, dict[Shape, list[Place]]] = defaultdict(lambda: defaultdict(list))
        known: set[tuple[Surroundings, Content]] = set()
        for example in self._examples:
            for span in example.spans:
                content, around = example.content(span), example.surroundings(span)
                if (around, content) not in known:
                    known.add((around, content))
                    self._around[content].append(around)
                    self._within[around][span.shape].append((example, span))

    def recombined(self, number: int) -> list[Aligned]:
        """So many new examples, or as many as there are; no sentence twice, and none that is known."""
        known = {example.words for example in self._examples}
        made: list[Aligned] = []
        for example in self._draws(TRIES * number):
            if len(made) == number:
                break
            if example.words not in known:
                known.add(example.words)
                made.append(example)
        return made

    def _draws(self, number: int) -> Iterator[Aligned]:
        for _ in range(number if self._examples else 0):
            example = self._random.choice(self._examples)
            found = self._drawn(example)
            if found is not None:
                yield found

    def _drawn(self, example: Aligned) -> Aligned | None:
        """The example with one span replaced; rather by one of another shape, which may be at a place that is new to
        it, than by other words in the same structure."""
        if not example.spans:
            return None
        span = self._random.choice(example.spans)
        content = example.content(span)
        places = self._within[self._random.choice(self._around[content])]
        pools = [of for shape, of in places.items() if shape != span.shape] or list(places.values())
        other, by = self._random.choice(self._random.choices(pools, [len(of) for of in pools])[0])
        return None if other.content(by) == content else example.replaced(span, other, by)
