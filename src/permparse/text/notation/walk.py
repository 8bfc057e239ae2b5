"""The state of a partly restored output, as rules see it: neighbours, open brackets, what is inside them.

Nothing here grows with depth or length: counts are capped, and only the innermost open bracket is visible, except when
deciding which bracket the next key belongs to.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias, final

from permparse.text.notation.brackets import Brackets
from permparse.text.notation.company import Bracket, Company, always_followed
from permparse.text.notation.ends import Ends
from permparse.text.notation.mentions import Mentions, Roles, Slot
from permparse.text.notation.symbols import END, NONE, NOTHING, START, VARIABLE, Symbol, Symbols, is_open_class

MOST = 3
LEFT = 4
ITEMS = "<items>"

State: TypeAlias = tuple[str | int, ...]

PLACE = "place of next"
"""The feature that rules ask first: it holds at places where no training output has a bracket."""

DISTANT = frozenset(
    (
        "kind of second next",
        "kept left",
        "kind of third next",
        "second next",
        "kind of second previous",
        "second previous",
    )
)
TYPES = frozenset(("next", "previous", "head", "first inside", "last kept", "segment"))
FAR, NAMING = 0.6, 0.9


class Ahead(NamedTuple):
    """The next three kept tokens (END behind the last) and how many are left."""

    first: str
    second: str
    third: str
    left: int


@final
@dataclass(frozen=True)
class Language:
    """What walking must know: brackets, symbols, dropped types, signs counted inside a bracket, and their numbers;
    which ends of arguments have names; what stands inside brackets.

    `arities` has for items, and for each counted sign, the number that every bracket with some head has in training.
    `contents` has for the first token of a bracket with its head inside, as in Lisp, what may follow: tokens, and first
    tokens of brackets.
    """

    brackets: Brackets = field(default_factory=Brackets)
    symbols: Symbols = field(default_factory=Symbols)
    dropped: frozenset[str] = frozenset()
    counted: tuple[str, ...] = ()
    arities: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ends: Ends = field(default_factory=Ends)
    company: Company = field(default_factory=Company)
    roles: Roles = field(default_factory=Roles)
    contents: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def trust(self) -> list[float]:
        """What the gain of each feature counts: what is far away or names a single type fits more easily by chance."""
        return [FAR if name in DISTANT else NAMING if name in TYPES else 1.0 for name in self.features]

    @property
    def features(self) -> tuple[str, ...]:
        return (*PLAIN, *(f"{token} inside" for token in self.counted))


@final
class _Level:
    """An open bracket: the token in front, the first inside, the number of items, the first since a dropped one, what
    of a closed class is directly inside, but for heads of brackets; the variables it binds and mentions first; names
    of what follows the first token, where brackets inside go by theirs."""

    __slots__ = (
        "bracket",
        "counts",
        "first",
        "head",
        "holds",
        "inside",
        "items",
        "last",
        "scope",
        "second",
        "segment",
        "topic",
    )

    def __init__(self, bracket: str, head: Symbol, counted: int) -> None:
        self.bracket, self.head = bracket, head
        self.first = self.second = self.segment = NOTHING
        self.items = 0
        self.counts = [0] * counted
        self.scope = self.topic = -1
        self.inside: list[Symbol] = []
        self.holds: set[str] = set()
        self.last: Symbol | None = None

    @property
    def seen(self) -> Bracket:
        return Bracket(self.head, self.first, self.inside, self.last)


@final
class Walk:
    """Walks along an output token by token. O(1) for each token."""

    def __init__(self, language: Language, closed_levels: "list[_Level] | None" = None) -> None:
        self.closed_levels = closed_levels
        self.symbols = language.symbols
        self._dropped, self._counted = language.dropped, language.counted
        self._arities, self._company, self._contents = language.arities, language.company, language.contents
        self._closing = language.brackets.closing
        self._closes = {closing: closing for closing in language.brackets.closing.values()} | language.ends.closing
        self.levels = [_Level(NONE, NOTHING, len(language.counted))]
        self.previous = self.second_previous = self.last_kept = (START, START)
        self.closed = NOTHING
        self.variables = 0
        self.mentions = Mentions(language.roles)
        self.run = 0

    def closes_nothing(self, token: str) -> bool:
        """Whether it is a closing bracket, and the innermost open one is of another kind, or none is open."""
        closes = self._closes.get(token) if token not in self._closing else None
        return closes is not None and closes != self._closing.get(self.levels[-1].bracket)

    def push(self, token: str) -> None:
        """Append a token, whether inserted or kept: states do not depend on what is kept as an exception."""
        level, symbol = self.levels[-1], self.symbols.of(token)
        number = self.symbols.number(token)
        if number is not None:
            self._push_variable(number)
        closing = self._closing.get(token)
        if closing is not None and (closing != token or level.bracket != token):
            if level.segment is NOTHING:
                level.segment = symbol
            if level.inside and level.inside[-1] == self.previous:  # the head of a bracket is no key
                level.inside.pop()
            self.levels.append(_Level(token, self.previous, len(self._counted)))
        elif len(self.levels) > 1 and self._closes.get(token) == self._closing[level.bracket]:
            if level.inside and level.inside[-1] == self.previous:
                level.last = self.previous
            if self.closed_levels is not None:
                self.closed_levels.append(level)
            self.closed = level.head if level.first is NOTHING else level.first
            self.levels.pop()
            self.levels[-1].items += 1
        else:
            self._push_inside(level, token, symbol)
        self.second_previous, self.previous = self.previous, symbol
        self.run += 1
        if token not in self._dropped:
            self.run = 0
            self.last_kept = symbol

    def _push_inside(self, level: _Level, token: str, symbol: Symbol) -> None:
        level.items += 1
        if not is_open_class(symbol):
            level.inside.append(symbol)
        if level.first is not NOTHING:
            level.holds.add(symbol[1])
        elif len(self.levels) > 1:
            self.levels[-2].holds.add(symbol[1])
        if level.first is NOTHING:
            level.first = symbol
        elif level.second is NOTHING:
            level.second = symbol
        if token in self._counted:
            level.counts[self._counted.index(token)] += 1
        if token in self._dropped:
            level.segment = NOTHING
        elif level.segment is NOTHING:
            level.segment = symbol

    def _push_variable(self, number: int) -> None:
        if number >= self.variables:
            self.variables = number + 1
            self.levels[-1].scope = number
        for level in reversed(self.levels):
            if level.topic >= 0:
                break
            level.topic = number
        self.mentions.mention(number, self.slot())

    def features(self, ahead: Ahead) -> State:
        """The state in front of the next kept tokens, in the order of `Language.features`."""
        view = View(self, ahead)
        return tuple([view[feature] for feature in range(len(PLAIN) + len(self._counted))])

    def repeats(self, symbol: Symbol) -> bool:
        """Whether it stands at the beginning of the innermost bracket, or of the last one, already."""
        level = self.levels[-1]
        return symbol in (level.first, level.second, level.segment, self.closed)

    def place(self, symbol: Symbol) -> str:
        """Where the next token belongs if it is a key."""
        company = self._company
        if symbol[1] not in company.keys:
            return NONE
        return company.place(symbol, self.previous, [level.seen for level in self.levels])

    def ends_before(self, symbol: Symbol) -> int:
        """How many open brackets must end before this token may stand inside one, be it first in a new bracket."""
        headed = (level.first[1] for level in reversed(self.levels) if level.first is not NOTHING)
        found = (number for number, first in enumerate(headed) if symbol[1] in self._contents.get(first, ()))
        return min(next(found, MOST), MOST)

    def number_of_items(self) -> str:
        """Whether the innermost bracket has all its items."""
        level = self.levels[-1]
        return self._fullness(ITEMS, level.items, level.first)

    def number_of(self, index: int) -> str:
        """Whether the innermost bracket has all its signs of the kind that is counted under this index."""
        level = self.levels[-1]
        return self._fullness(self._counted[index], level.counts[index], level.head)

    def _fullness(self, counted: str, number: int, head: Symbol) -> str:
        """Whether a bracket has the number of items or signs that its head always has; unknown if that varies."""
        arities = self._arities.get(counted, {})
        arity = arities.get(head[1], arities.get(head[0]))
        return "varies" if arity is None else "full" if number == arity else "over" if number > arity else "open"

    def topic(self) -> int | None:
        """The variable that the bracket around the innermost one mentions first."""
        topic = self.levels[-2].topic if len(self.levels) > 1 else -1
        return topic if topic >= 0 else None

    def slot(self) -> Slot:
        """The place inside the innermost bracket: what names the bracket, in front of it or first inside, and how many
        items there are already."""
        level = self.levels[-1]
        named = level.head if level.first is NOTHING or level.first[0] == VARIABLE else level.first
        return named[1], level.items

    def scopes(self) -> list[int]:
        """The variables bound by open brackets, innermost first."""
        return [level.scope for level in reversed(self.levels) if level.scope >= 0]


QUESTIONS: Mapping[str, Callable[[Walk, Ahead], str | int]] = {
    "kind of next": lambda walk, ahead: walk.symbols.of(ahead.first)[0],
    "kind of previous": lambda walk, ahead: walk.previous[0],
    "bracket": lambda walk, ahead: walk.levels[-1].bracket,
    "kind of head": lambda walk, ahead: walk.levels[-1].head[0],
    "kind of first inside": lambda walk, ahead: walk.levels[-1].first[0],
    "next repeats": lambda walk, ahead: "yes" if walk.repeats(walk.symbols.of(ahead.first)) else "no",
    PLACE: lambda walk, ahead: walk.place(walk.symbols.of(ahead.first)),
    "kind of second next": lambda walk, ahead: walk.symbols.of(ahead.second)[0],
    "kept left": lambda walk, ahead: min(ahead.left, LEFT),
    "kind of third next": lambda walk, ahead: walk.symbols.of(ahead.third)[0],
    "kind of second previous": lambda walk, ahead: walk.second_previous[0],
    "kind of last kept": lambda walk, ahead: walk.last_kept[0],
    "kind of segment": lambda walk, ahead: walk.levels[-1].segment[0],
    "items": lambda walk, ahead: walk.number_of_items(),
    "ends before next": lambda walk, ahead: walk.ends_before(walk.symbols.of(ahead.first)),
    "kind of closed head": lambda walk, ahead: walk.closed[0],
    "variables": lambda walk, ahead: min(walk.variables, MOST),
    "next": lambda walk, ahead: walk.symbols.of(ahead.first)[1],
    "previous": lambda walk, ahead: walk.previous[1],
    "head": lambda walk, ahead: walk.levels[-1].head[1],
    "first inside": lambda walk, ahead: walk.levels[-1].first[1],
    "second next": lambda walk, ahead: walk.symbols.of(ahead.second)[1],
    "second previous": lambda walk, ahead: walk.second_previous[1],
    "last kept": lambda walk, ahead: walk.last_kept[1],
    "segment": lambda walk, ahead: walk.levels[-1].segment[1],
}
"""Features and how a walk answers them, general ones first. Behind them comes, for each counted sign, whether a bracket
has all of them."""
PLAIN = tuple(QUESTIONS)
ANSWERS = tuple(QUESTIONS.values())


@final
class View:
    """The state of a walk in front of the next kept tokens, by the index of a feature; found when asked for, since a
    rule asks a few of many. It holds until the walk goes on."""

    __slots__ = ("_ahead", "_walk")

    def __init__(self, walk: Walk, ahead: Ahead) -> None:
        self._walk, self._ahead = walk, ahead

    def __getitem__(self, feature: int) -> str | int:
        if feature < len(ANSWERS):
            return ANSWERS[feature](self._walk, self._ahead)
        return self._walk.number_of(feature - len(ANSWERS))


def look_ahead(tokens: Sequence[str], dropped: Collection[str]) -> list[Ahead]:
    """For each position, and behind the last, the next tokens that are never dropped, and how many there are."""
    first = second = third = END
    left = 0
    ahead = [Ahead(first, second, third, left)]
    for token in reversed(tokens):
        if token not in dropped:
            first, second, third, left = token, first, second, left + 1
        ahead.append(Ahead(first, second, third, left))
    return ahead[::-1]


def with_brackets_seen(
    language: Language, outputs: Sequence[Sequence[str]], headed_in_front: Collection[str] = ()
) -> Language:
    """The language with what the brackets of these outputs have in common: numbers, what stands together, and where
    their variables have stood. Some opening brackets have their heads in front of them, as in f(x)."""
    closed: list[_Level] = []
    mentions: list[Mentions] = []
    for output in outputs:
        walk = Walk(language, closed)
        for token in output:
            walk.push(token)
        mentions.append(walk.mentions)
    company = Company.of(level.seen for level in closed)
    company = replace(company, assigned=company.keys & always_followed(outputs, language.brackets).keys())
    holds: dict[str, set[str]] = defaultdict(set)
    for level in closed:
        if level.bracket not in headed_in_front:
            holds[level.first[1]] |= level.holds
    contents = {first: frozenset(names) for first, names in sorted(holds.items())}
    return replace(
        language, arities=_arities(language, closed), company=company, roles=Roles.of(mentions), contents=contents
    )


def _arities(language: Language, closed: Iterable[_Level]) -> dict[str, dict[str, int]]:
    """The numbers of items and counted signs that all brackets with a head have: for kinds, and types that differ."""
    numbers: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    kinds: dict[str, str] = {}
    for level in closed:
        for counted, number, (kind, name) in (
            (ITEMS, level.items, level.first),
            *((t, n, level.head) for t, n in zip(language.counted, level.counts, strict=True)),
        ):
            numbers[counted][kind].add(number)
            numbers[counted][name].add(number)
            kinds[name] = kind
    return {
        counted: {
            head: min(found)
            for head, found in sorted(heads.items())
            if len(found) == 1 and (kinds.get(head, head) == head or heads[kinds[head]] != found)
        }
        for counted, heads in numbers.items()
    }
