"""Heads with a varying number of arguments: their separators and closing brackets get names, `all…,` and `all…)`.

If a head always has the same number of arguments, its brackets and separators are implied; those of `all(a, b, c)` may
not be. With names of their own, they are kept or dropped for each head separately.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, final

from permparse.text.notation.brackets import Brackets
from permparse.text.notation.symbols import is_sign

ELLIPSIS = "…"
CONSTANT = 0.98
"""Share of its brackets that must have the usual number of arguments for a head to have a fixed one."""
SEEN = 5
"""Brackets that a head must have."""
FEW = 12
"""Heads with a varying number of arguments: more of them are an open class, in which a name says little."""
HEADED = 0.6
"""Share of brackets behind a word from which on that word is the head, as in f(x); else it is the first inside."""
SEPARATED = 0.02
"""Share of brackets with a separator that f(x, y) must have."""


class _Bracket(NamedTuple):
    """A pair of brackets in an output: where it closes, its neighbours, where signs and how many items are inside."""

    opening: str
    closes: int
    before: str
    first: str
    signs: dict[int, str]
    items: int


@final
@dataclass(frozen=True)
class Ends:
    """Heads, by opening bracket, whose number of arguments varies; the separator of each bracket whose head stands in
    front of it. A bracket without one has its head inside, as in Lisp."""

    brackets: Brackets = field(default_factory=Brackets)
    heads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    separators: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[str, str]:
        """Names and the tokens that they stand for."""
        return {
            _name(head, token): token
            for opening, heads in self.heads.items()
            for token in (self.brackets.closing[opening], self.separators.get(opening, ""))
            for head in sorted(heads)
            if token
        }

    @cached_property
    def closing(self) -> dict[str, str]:
        """Names of closing brackets alone."""
        closers = frozenset(self.brackets.closing.values())
        return {name: token for name, token in self.names.items() if token in closers}

    def named(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with such ends named; what looks like a name already is made longer."""
        if not self.heads:
            return list(tokens)
        found = [token + ELLIPSIS if token.rstrip(ELLIPSIS) in self.names else token for token in tokens]
        for bracket in _brackets(tokens, self.brackets):
            separator = self.separators.get(bracket.opening)
            head = bracket.first if separator is None else bracket.before
            if head in self.heads.get(bracket.opening, ()):
                for at in (bracket.closes, *(at for at, sign in bracket.signs.items() if sign == separator)):
                    found[at] = _name(head, tokens[at])
        return found

    def plain(self, tokens: Sequence[str]) -> list[str]:
        """The inverse of `named`."""
        return [self.names.get(token) or self._shorter(token) for token in tokens]

    def _shorter(self, token: str) -> str:
        return token.removesuffix(ELLIPSIS) if token.rstrip(ELLIPSIS) in self.names else token


@final
@dataclass(frozen=True)
class Calls:
    """For each opening bracket, how often each head has which number of arguments; separators as in `Ends`."""

    brackets: Brackets
    numbers: Mapping[str, Mapping[str, Counter[int]]]
    separators: Mapping[str, str]

    def ends(self) -> Ends:
        """The heads whose number of arguments varies."""
        varying = {
            o: frozenset(h for h, counts in heads.items() if _varies(counts)) for o, heads in self.numbers.items()
        }
        heads = {opening: found for opening, found in varying.items() if 0 < len(found) <= FEW}
        return Ends(self.brackets, heads, {o: s for o, s in self.separators.items() if o in heads})

    def closed_class(self, values: Collection[str]) -> frozenset[str]:
        """Values that are also heads, where heads differ in their numbers of arguments: functions that happen to be
        called like a word of the input, and of which there are no more than training shows."""
        closed: set[str] = set()
        for heads in self.numbers.values():
            usual = {
                h: counts.most_common(1)[0][0] for h, counts in heads.items() if h in values and counts.total() >= SEEN
            }
            if len(set(usual.values())) > 1:
                closed |= usual.keys()
        return frozenset(closed)


def find_calls(brackets: Brackets, outputs: Iterable[Sequence[str]]) -> Calls:
    """Heads and their arguments: separators are counted, or items where there are none."""
    groups: dict[str, list[_Bracket]] = defaultdict(list)
    for output in outputs:
        for bracket in _brackets(output, brackets):
            groups[bracket.opening].append(bracket)
    numbers: dict[str, dict[str, Counter[int]]] = {}
    separators: dict[str, str] = {}
    for opening, found in sorted(groups.items()):
        heads = numbers[opening] = defaultdict(Counter)
        separator = _separator(found)
        if separator:
            separators[opening] = separator
            for b in found:
                heads[b.before][list(b.signs.values()).count(separator)] += 1
        else:
            for b in found:
                if b.first and not is_sign(b.first):
                    heads[b.first][b.items] += 1
    return Calls(brackets, numbers, separators)


def _separator(found: Sequence[_Bracket]) -> str:
    """The sign that separates the arguments of calls such as f(x, y): the one whose number the head says best; empty
    if these are no such calls."""
    signs = Counter(sign for bracket in found for sign in set(bracket.signs.values()))
    likely = sorted(sign for sign, number in signs.items() if number >= SEPARATED * len(found))
    behind_word = sum(b.before != "" and not is_sign(b.before) for b in found)
    if not likely or behind_word < HEADED * len(found):
        return ""

    def unusual(sign: str) -> int:
        numbers: dict[str, Counter[int]] = defaultdict(Counter)
        for bracket in found:
            numbers[bracket.before][list(bracket.signs.values()).count(sign)] += 1
        return sum(counts.total() - max(counts.values()) for counts in numbers.values())

    return min(likely, key=lambda sign: (unusual(sign), -signs[sign]))


def _varies(counts: Counter[int]) -> bool:
    return counts.total() >= SEEN and max(counts.values()) < CONSTANT * counts.total()


def _name(head: str, closing: str) -> str:
    return f"{head}{ELLIPSIS}{closing}"


def _brackets(tokens: Sequence[str], brackets: Brackets) -> Iterator[_Bracket]:
    """The bracketed spans of an output, toggles aside, in the order in which they close."""
    toggles, closers = brackets.toggles, frozenset(brackets.closing.values())
    open_at: list[int] = []
    signs: list[dict[int, str]] = [{}]
    items = [0]
    for at, token in enumerate(tokens):
        top = tokens[open_at[-1]] if open_at else ""
        if token in brackets.closing and not (token in toggles and top == token):
            open_at.append(at)
            signs.append({})
            items.append(0)
            continue
        if token in closers and open_at and brackets.closing[top] == token:
            start = open_at.pop()
            inside, number = signs.pop(), items.pop()
            if token not in toggles:
                before, first = tokens[start - 1] if start else "", tokens[start + 1] if start + 1 < at else ""
                yield _Bracket(top, at, before, first, inside, number)
        elif is_sign(token):
            signs[-1][at] = token
        items[-1] += 1
