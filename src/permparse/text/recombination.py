"""New examples from old ones: replace a span of an example by another span that occurs in the same context.

A span is a run of words whose tokens are contiguous in the output. *the cake* and *the cake on the table* both occur
between *saw* and the full stop, and their tokens between `theme` and the end, so one may replace the other wherever it
occurs, also as a subject (after Andreas, 2020, good-enough compositional data augmentation).

One or two tokens may be apart from the others: in `* cake 1 roll 2 1` the tokens of *the cake* are `* cake 1`, and
another `1` names what rolled. They are replaced one by one, by those of a span that has as many of the same kind.

Structures that replace each other in many contexts, such as *Emma* and *the cake* after verbs, may do so in any
context. A context in which one of them never occurs is a gap; the gaps least likely to be accidental are filled.

Spans are also replaced, several times, by longer ones that contain a span of their kind: *Ohio* by *states next to
Ohio*. So examples become deeper than any in training.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple, TypeAlias

from permparse.text.notation.symbols import shape

LONGEST = 20
"""Words of a span at most."""
MOST_STRAYS = 2
FREQUENT = 20
"""Words seen so often must have stood side by side if an exchange is to bring them together; rarer ones are alike."""
FILLED = 0.3
"""Share of the draws that fill gaps."""
DEEPENED = 0.3
"""Share of the draws that make examples deeper."""
MOST_DEEPENED = 3
"""How many times an example is made deeper at most."""
EXCHANGED = 20
"""Surroundings in which two structures must both have stood if they may stand for each other everywhere."""
MOST_EXCHANGED = 12
"""Tokens of a structure at most that stands for others."""
TRIES = 10
"""Draws for each example that is wanted, at most: small or uniform data has little to recombine."""
BOUND = "\0"
"""Stands at both ends of a sentence and of an output, and is the kind of what closes a bracket: the end of a part."""

Surroundings: TypeAlias = tuple[str, ...]
"""Two words, three tokens, and three more for each that has strayed."""
WITHOUT_STRAYS = 5
Content: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
Structure: TypeAlias = tuple[tuple[str, int], ...]
"""Tokens by kind, each with the number of its word, counted as they first appear."""


class Span(NamedTuple):
    """Words [first, last) whose tokens are the tokens [begin, end) and ``strays``."""

    first: int
    last: int
    begin: int
    end: int
    strays: tuple[int, ...] = ()


@dataclass(frozen=True)
class Aligned:
    """A sentence and its output: each token with the position of the word it comes from. Positions beyond the last word
    belong to no word, and to no span. ``kinds`` are the tokens with all values made alike, and all closing brackets, if
    they are known."""

    words: tuple[str, ...]
    tokens: tuple[str, ...]
    positions: tuple[int, ...]
    kinds: tuple[str, ...] | None = None

    @cached_property
    def spans(self) -> list[Span]:
        """All spans but the whole sentence that begin and end with words that have tokens in its run: *to* of *to Emma*
        says what the surroundings ask for, not what the span is. What has strayed comes from one word."""
        tokens_at: dict[int, list[int]] = defaultdict(list)
        for token, position in enumerate(self.positions):
            tokens_at[position].append(token)
        found = []
        for first in range(len(self.words)):
            inside: list[int] = []
            for last in range(first + 1, min(len(self.words), first + LONGEST) + 1):
                inside += tokens_at[last - 1]
                if tokens_at[first] and tokens_at[last - 1] and last - first < len(self.words):
                    span = self._span(first, last, sorted(inside))
                    found += [] if span is None else [span]
        return found

    def _span(self, first: int, last: int, inside: Sequence[int]) -> Span | None:
        """The span of these words, whose tokens are ``inside``, if they make one."""
        begin, end = _longest_run(inside)
        strays = tuple(token for token in inside if not begin <= token < end)
        ends = {first, last - 1} <= set(self.positions[begin:end])
        few = len(strays) <= MOST_STRAYS and len({self.positions[i] for i in strays}) <= 1
        return Span(first, last, begin, end, strays) if ends and few else None

    def content(self, span: Span) -> Content:
        """The words of a span, its tokens, and those that have strayed."""
        strays = tuple(self.tokens[i] for i in span.strays)
        return self.words[span.first : span.last], self.tokens[span.begin : span.end], strays

    def surroundings(self, span: Span) -> Surroundings:
        """The words and the tokens on both sides of a span, and the tokens that have strayed from it, each with what it
        follows."""
        words = (BOUND, *self.words, BOUND)
        strays = (part for i in span.strays for part in (*self._before(i), self.tokens[i]))
        beside = words[span.first].lower(), words[span.last + 1].lower()
        return *beside, *self._before(span.begin), self._behind(span.end), *strays

    def structure(self, span: Span) -> Structure:
        """What a span is like, whatever its words: those of a noun alone, and of a noun with a phrase, begin alike."""
        number: dict[int, int] = {}
        return tuple(
            (self._kinds[i], number.setdefault(self.positions[i], len(number)))
            for i in (*span.strays, *range(*span[2:4]))
        )

    def _before(self, token: int) -> tuple[str, str]:
        """The kind of the token two places before, and the token right before."""
        return self._kinds[token - 2] if token > 1 else BOUND, self.tokens[token - 1] if token else BOUND

    def _behind(self, token: int) -> str:
        """This token, or BOUND if it closes a bracket: what is behind *Ohio* says nothing of how deep it is."""
        return BOUND if token == len(self.tokens) or self._kinds[token] == BOUND else self.tokens[token]

    @property
    def _kinds(self) -> tuple[str, ...]:
        return self.tokens if self.kinds is None else self.kinds

    def replaced(self, span: Span, other: Aligned, by: Span) -> Aligned:
        """This example with a span of another one, of as many strays, in the place of its own."""
        longer, moved = (by.last - by.first) - (span.last - span.first), span.first - by.first
        tokens, kinds = list(self.tokens), list(self._kinds)
        positions = [position if position < span.first else position + longer for position in self.positions]
        for own, new in zip(span.strays, by.strays, strict=True):
            tokens[own], kinds[own], positions[own] = other.tokens[new], other._kinds[new], other.positions[new] + moved
        tokens[span.begin : span.end] = other.tokens[by.begin : by.end]
        kinds[span.begin : span.end] = other._kinds[by.begin : by.end]
        positions[span.begin : span.end] = [position + moved for position in other.positions[by.begin : by.end]]
        words = (*self.words[: span.first], *other.words[by.first : by.last], *self.words[span.last :])
        return Aligned(words, tuple(tokens), tuple(positions), None if self.kinds is None else tuple(kinds))

    def exchanged(self, span: Span, other: Aligned, by: Span) -> Aligned:
        """This example with a span of another one, which has no strays, in the place of its own: where the first token
        has strayed to, if any has, since the others only follow from it."""
        longer, moved = (by.last - by.first) - (span.last - span.first), span.first - by.first
        place, gone = min(span.strays, default=span.begin), {*span.strays, *range(span.begin, span.end)}
        found: list[tuple[str, int]] = []
        for i, (token, position) in enumerate(zip(self.tokens, self.positions, strict=True)):
            if i == place:
                found += [(other.tokens[k], other.positions[k] + moved) for k in range(by.begin, by.end)]
            if i not in gone:
                found.append((token, position if position < span.first else position + longer))
        words = (*self.words[: span.first], *other.words[by.first : by.last], *self.words[span.last :])
        return Aligned(words, tuple(token for token, _ in found), tuple(position for _, position in found))


def _differ_by_an_end(one: Structure, other: Structure) -> bool:
    """Whether the longer of two begins or ends as the shorter one does."""
    short, long = (one, other) if len(one) < len(other) else (other, one)
    size = len(short)
    if size == len(long) or long[:size] == short:
        return size < len(long)
    # Words have other numbers at the end of a structure: kinds alone rule most of them out.
    kinds = long[-1][0] == short[-1][0] and long[-size][0] == short[0][0]
    return kinds and _renumbered(long[-size:]) == short


def _is_inside(one: Structure, other: Structure) -> bool:
    """Whether the second has all of the first as a run of its tokens, and more."""
    size, kinds = len(one), [kind for kind, _ in one]
    begins = range(len(other) - size + 1 if len(other) > size else 0)
    runs = (other[begin : begin + size] for begin in begins)
    return any([kind for kind, _ in run] == kinds and _renumbered(run) == one for run in runs)


def _renumbered(structure: Structure) -> Structure:
    """Words counted from the first of these tokens on."""
    number: dict[int, int] = {}
    return tuple((kind, number.setdefault(word, len(number))) for kind, word in structure)


def _longest_run(numbers: Sequence[int]) -> tuple[int, int]:
    """The longest run of successive numbers, as [begin, end); the first of equally long ones."""
    best = begin = numbers[0]
    end = longest = best
    for number in numbers:
        if number != end:
            begin = number
        end = number + 1
        if end - begin > longest - best:
            best, longest = begin, end
    return best, longest


Place: TypeAlias = tuple[Aligned, Span]


class Gap(NamedTuple):
    """A structure that has never stood in a slot; the spans it may take the place of, and how many of them it would be
    expected to be."""

    slot: Surroundings
    structure: Structure
    places: list[Place]
    expected: float


class Recombiner:
    """Examples and what has stood in which surroundings."""

    def __init__(self, examples: Sequence[Aligned], seed: int) -> None:
        self._examples, self._random = list(examples), random.Random(seed)
        self._words = Counter(word.lower() for example in self._examples for word in example.words)
        self._pairs = {pair for example in self._examples for pair in pairwise((BOUND, *self._alike(example.words)))}
        self._around: dict[Content, list[Surroundings]] = defaultdict(list)
        self._within: dict[Surroundings, dict[Structure, list[Place]]] = defaultdict(lambda: defaultdict(list))
        known: set[tuple[Surroundings, Content]] = set()
        for example in self._examples:
            for span in example.spans:
                content, around = example.content(span), example.surroundings(span)
                if (around, content) not in known:
                    known.add((around, content))
                    self._around[content].append(around)
                    self._within[around][example.structure(span)].append((example, span))
        self._exchangeable, self._whole = self._exchanges()
        self._gaps = list(self._found_gaps())
        self._weights = list(accumulate(gap.expected for gap in self._gaps))
        self._longer: dict[tuple[Surroundings, Structure], list[list[Place]]] = {}

    def _exchanges(self) -> tuple[dict[Structure, list[Structure]], dict[Structure, list[Place]]]:
        """The structures that may stand for each one everywhere, and where each has stood without strays."""
        together: Counter[tuple[Structure, Structure]] = Counter()
        whole: dict[Structure, list[Place]] = defaultdict(list)
        for around, places in self._within.items():
            if len(around) == WITHOUT_STRAYS:
                short = sorted(structure for structure in places if len(structure) <= MOST_EXCHANGED)
                together.update(combinations(short, 2))
                for structure in short:
                    whole[structure] += places[structure]
        found: dict[Structure, list[Structure]] = defaultdict(list)
        for (one, other), number in together.items():
            if number >= EXCHANGED:
                found[one].append(other)
                found[other].append(one)
        return dict(found), dict(whole)

    def _alike(self, words: Sequence[str]) -> list[str]:
        """The words, rare ones by their shape alone."""
        return [word.lower() if self._words[word.lower()] >= FREQUENT else shape(word) for word in words]

    def _found_gaps(self) -> Iterator[Gap]:
        """Every slot with a structure that has never stood there, though others have that it may stand for: at each of
        them in proportion to how often, and to how frequent the structure is elsewhere."""
        slots: dict[Surroundings, dict[Structure, list[Place]]] = defaultdict(lambda: defaultdict(list))
        for example in self._examples:
            for span in example.spans:
                structure = example.structure(span)
                if structure in self._exchangeable:
                    slots[self._slot(example, span)][structure].append((example, span))
        frequency = Counter({structure: len(places) for structure, places in self._whole.items()})
        for slot, structures in slots.items():
            for own, places in structures.items():
                for other in self._exchangeable[own]:
                    if other not in structures:
                        yield Gap(slot, other, places, len(places) * frequency[other] / frequency.total())

    def _slot(self, example: Aligned, span: Span) -> Surroundings:
        """The surroundings of a span without strays: the word that decides what may follow, and rare ones alike."""
        words = (BOUND, *self._alike(example.words), BOUND)
        beside = example.surroundings(span)[2:WITHOUT_STRAYS]
        return words[self._asking(example, span)], words[span.last + 1], *beside

    def _asking(self, example: Aligned, span: Span) -> int:
        """How many words stand in front of a span, but for those of other exchangeable ones right before it: in *gave
        Emma the cake* it is *gave*, not *Emma*, that decides what may follow."""
        first = span.first
        while True:
            ends = [
                of.first for of in example.spans if of.last == first and example.structure(of) in self._exchangeable
            ]
            if not ends:
                return first
            first = min(ends)

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
            chance, example = self._random.random(), self._random.choice(self._examples)
            if chance < DEEPENED:
                found = self._deepened(example)
            elif self._gaps and chance < DEEPENED + FILLED:
                found = self._filled()
            else:
                found = self._drawn(example)
            if found is not None:
                yield found

    def _deepened(self, example: Aligned) -> Aligned | None:
        """The example with spans replaced one after the other by longer ones that have a structure like theirs inside;
        None if there is none."""
        deepest = example
        for _ in range(self._random.randint(1, MOST_DEEPENED)):
            deeper = self._deeper(deepest)
            if deeper is None:
                break
            deepest = deeper
        return None if deepest is example else deepest

    def _deeper(self, example: Aligned) -> Aligned | None:
        spans = [span for span in example.spans if example.content(span) in self._around]
        for span in self._random.sample(spans, len(spans)):
            around = self._random.choice(self._around[example.content(span)])
            own = example.structure(span)
            if (around, own) not in self._longer:
                places = self._within[around].items()
                self._longer[around, own] = [of for structure, of in places if _is_inside(own, structure)]
            if pools := self._longer[around, own]:
                other, by = self._random.choice(self._random.choice(pools))
                return example.replaced(span, other, by)
        return None

    def _filled(self) -> Aligned | None:
        """An example with a structure where it has never stood; None if words would meet that do not."""
        gap = self._random.choices(self._gaps, cum_weights=self._weights)[0]
        example, span = self._random.choice(gap.places)
        other, by = self._random.choice(self._whole[gap.structure])
        meeting = (gap.slot[0], *self._alike(other.words[by.first : by.first + 1]))
        return example.exchanged(span, other, by) if meeting in self._pairs else None

    def _drawn(self, example: Aligned) -> Aligned | None:
        """The example with one span replaced: by a structure that has something more at one end, or less, which may be
        at a place that is new to it; or else by other words in the same structure. All structures are as likely."""
        if not example.spans:
            return None
        span = self._random.choice(example.spans)
        content, own = example.content(span), example.structure(span)
        places = self._within[self._random.choice(self._around[content])]
        pools = [of for structure, of in places.items() if _differ_by_an_end(own, structure)] or [places.get(own, [])]
        pool = self._random.choice(pools)
        if not pool:  # the same tokens come from other words there
            return None
        other, by = self._random.choice(pool)
        return None if other.content(by) == content else example.replaced(span, other, by)
