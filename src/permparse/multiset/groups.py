"""Which positions can produce which token of a target: the independent recursions that make up P(m | x).

Every cell (position, symbol) belongs to at most one group; a cell in no group has gold count zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

LEX = 0
"""The symbol whose multiplicity at position i counts copies of the lexicon's token L(x_i)."""
VAR = 1
"""The symbol whose multiplicity at position i counts copies of the variable numbered i."""
FIRST_TYPE = 2
"""The first symbol that is an ordinary output type."""


@dataclass(frozen=True)
class Group:
    """The copies of a token in the target: the counts of ``symbol`` at ``positions`` add up to ``total``."""

    symbol: int
    total: int
    positions: tuple[int, ...]


@dataclass(frozen=True)
class TargetGroups:
    """The groups of one target, and the tokens (with multiplicity) that no symbol can produce."""

    groups: tuple[Group, ...]
    unproducible: dict[str, int]


def _same(token: str) -> str:
    return token


def target_groups(
    target: Iterable[str],
    lexical: Sequence[str | None],
    symbols: Mapping[str, int],
    variables: bool = False,
    normalise: Callable[[str], str] = _same,
) -> TargetGroups:
    """The groups of a target whose i-th source word the lexicon maps to ``lexical[i]`` (None: to nothing).

    With ``variables``, a decimal number p below the source length is the variable of position p and only that
    position can produce it. Otherwise a token that the lexicon gives for some word is produced by those words
    alone, and any other token by every position, through its own symbol. ``normalise`` is applied to both
    sides before comparing with the lexicon (``str.lower`` where case does not matter); ``symbols`` is asked
    for the token as it stands.
    """
    totals: Counter[tuple[int, tuple[int, ...]]] = Counter()
    unproducible: Counter[str] = Counter()
    producers = _Producers(lexical, symbols, variables, normalise)
    for token in target:
        found = producers.of(token)
        if found is None:
            unproducible[token] += 1
        else:
            totals[found] += 1
    groups = tuple(Group(symbol, total, positions) for (symbol, positions), total in totals.items())
    return TargetGroups(groups, dict(unproducible))


def anchors(
    target: Sequence[str],
    lexical: Sequence[str | None],
    symbols: Mapping[str, int],
    variables: bool = False,
    normalise: Callable[[str], str] = _same,
    adjacent: bool = False,
) -> list[Group]:
    """A guess where the ordinary tokens of a target come from: the word behind the token that they precede.

    Operators stand before their arguments in most output languages. So a token that any position could
    produce is attributed to the position of the next token that a variable or the lexicon accounts for; to
    none if there is no such token or several positions could produce it, nor, if ``adjacent``, if another
    ordinary token stands between. Other arguments as for `target_groups`; the groups returned have one position
    each.
    """
    producers = _Producers(lexical, symbols, variables, normalise)
    homes: list[int | None] = []
    following: int | None = None
    for index in reversed(range(len(target))):
        found = producers.of(target[index])
        if found is not None and found[0] < FIRST_TYPE:
            following = index
        homes.append(following)
        if found is not None and found[0] >= FIRST_TYPE and adjacent:
            following = None
    return attributed(target, homes[::-1], lexical, symbols, variables, normalise)


def attributed(
    target: Sequence[str],
    homes: Sequence[int | None],
    lexical: Sequence[str | None],
    symbols: Mapping[str, int],
    variables: bool = False,
    normalise: Callable[[str], str] = _same,
) -> list[Group]:
    """The ordinary tokens of a target at the position of the token that ``homes`` names for each, by its index.

    A token without a home, or whose home several positions could produce, is left out. Other arguments as for
    `target_groups`; the groups returned have one position each.
    """
    producers = _Producers(lexical, symbols, variables, normalise)
    copies: Counter[tuple[int, int]] = Counter()
    for token, home in zip(target, homes, strict=True):
        found, at = producers.of(token), None if home is None else producers.of(target[home])
        if found is not None and at is not None and found[0] >= FIRST_TYPE > at[0] and len(at[1]) == 1:
            copies[at[1][0], found[0]] += 1
    return [Group(symbol, total, (position,)) for (position, symbol), total in sorted(copies.items())]


class _Producers:
    """The symbol and the positions that can produce a token."""

    def __init__(
        self,
        lexical: Sequence[str | None],
        symbols: Mapping[str, int],
        variables: bool,
        normalise: Callable[[str], str],
    ) -> None:
        self._everywhere = tuple(range(len(lexical)))
        self._variables = {str(i): (i,) for i in self._everywhere} if variables else {}
        self._lexical: dict[str, tuple[int, ...]] = {}
        for i, token in enumerate(lexical):
            if token is not None:
                key = normalise(token)
                self._lexical[key] = (*self._lexical.get(key, ()), i)
        self._symbols, self._normalise = symbols, normalise

    def of(self, token: str) -> tuple[int, tuple[int, ...]] | None:
        if token in self._variables:
            return VAR, self._variables[token]
        if (key := self._normalise(token)) in self._lexical:
            return LEX, self._lexical[key]
        if token in self._symbols and self._everywhere:
            return self._symbols[token], self._everywhere
        return None


def unreachable(groups: Iterable[Group], max_count: int) -> list[Group]:
    """The groups whose total is beyond ``max_count`` copies at every one of their positions."""
    return [group for group in groups if group.total > max_count * len(group.positions)]
