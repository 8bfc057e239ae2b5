"""What a rule sees of a token: its type if frequent, else its shape, so that unseen values behave like seen ones."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from permparse.text.notation.series import Series

VARIABLE = "<variable>"
NUMBER, NAME, SIGN, WORD = "<number>", "<Name>", "<sign>", "<word>"
SHAPES = frozenset((VARIABLE, NUMBER, NAME, SIGN, WORD))
START, END, NONE = "<start>", "<end>", "<none>"
Symbol: TypeAlias = tuple[str, str]
"""Kind and type: the kind is general (the shape of a value), the type may be the token itself."""
NOTHING: Symbol = (NONE, NONE)
ALIKE = 3
"""Types that must share their neighbours to be of one kind."""
USUAL = 0.8


@final
@dataclass(frozen=True)
class Symbols:
    """The types that rules may name, their kinds where they are alike, the names of bound variables."""

    named: frozenset[str] = frozenset()
    kinds: Mapping[str, str] = field(default_factory=dict)
    variables: Series = field(default_factory=Series)
    _seen: dict[str, Symbol] = field(default_factory=dict, repr=False, compare=False)

    def of(self, token: str) -> Symbol:
        """Kind and type of a token; remembered, since rules ask at every step."""
        found = self._seen.get(token)
        if found is None:
            found = self._seen[token] = self._symbol(token)
        return found

    def _symbol(self, token: str) -> Symbol:
        if token in (START, END, NONE):
            return (token, token)
        if self.number(token) is not None:
            return (VARIABLE, VARIABLE)
        if token not in self.named or token.isdigit():
            return (shape(token), shape(token))
        return (self.kinds.get(token, token), token)

    def without(self, hidden: frozenset[str]) -> "Symbols":
        """The same with some types unknown."""
        return Symbols(self.named - hidden, self.kinds, self.variables)

    def number(self, token: str) -> int | None:
        """Which bound variable this is; None if it is no variable."""
        return self.variables.number(token)

    def alike(self, token: str) -> str:
        """The token, or what stands for all variables."""
        return token if self.number(token) is None else VARIABLE

    def variable(self, number: int) -> str:
        return self.variables.variable(number)


def is_sign(token: str) -> bool:
    """No letter and no digit: a bracket, a comma, an operator."""
    return not any(c.isalnum() for c in token)


def shape(token: str) -> str:
    """Number, capitalised, lower case or sign."""
    if token.isdigit():
        return NUMBER
    if token[:1].isupper():
        return NAME
    return SIGN if is_sign(token) else WORD


def is_open_class(symbol: Symbol) -> bool:
    """Whether it is a value, known by its shape, or a variable."""
    return symbol[0] in SHAPES


def find_kinds(
    outputs: Sequence[Sequence[str]], named: Collection[str], copied: Collection[str], variables: Series
) -> dict[str, str]:
    """The kind of each named type: its shape if it is copied from the input, else what it always stands between."""
    plain = Symbols(variables=variables)
    before: dict[str, Counter[str]] = defaultdict(Counter)
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for output in outputs:
        general = [token if plain.number(token) is None else VARIABLE for token in output]
        for left, token, right in zip([START, *general], output, [*general[1:], END], strict=False):
            before[token][left] += 1
            after[token][right] += 1
    places = {token: (_usual(before[token]), _usual(after[token])) for token in named if token not in copied}
    common = Counter(places.values())
    kinds = {t: f"<{left} … {right}>" for t, (left, right) in places.items() if common[left, right] >= ALIKE}
    kinds = {token: kind for token, kind in kinds.items() if places[token] != ("", "")}
    return kinds | {token: shape(token) for token in copied}


def _usual(neighbours: Counter[str]) -> str:
    """The neighbour that a token nearly always has; empty if there is none. That outputs often begin with it makes no
    kind: it may stand elsewhere as well."""
    token, count = neighbours.most_common(1)[0]
    return token if count >= (1.0 if token == START else USUAL) * neighbours.total() else ""
