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
    producers: dict[str, list[int]] = {}
    for i, token in enumerate(lexical):
        if token is not None:
            producers.setdefault(normalise(token), []).append(i)
    everywhere = tuple(range(len(lexical)))
    variable_position = {str(i): i for i in everywhere} if variables else {}
    totals: Counter[tuple[int, tuple[int, ...]]] = Counter()
    unproducible: Counter[str] = Counter()
    for token in target:
        positions = producers.get(normalise(token))
        if token in variable_position:
            totals[VAR, (variable_position[token],)] += 1
        elif positions is not None:
            totals[LEX, tuple(positions)] += 1
        elif token in symbols and everywhere:
            totals[symbols[token], everywhere] += 1
        else:
            unproducible[token] += 1
    groups = tuple(Group(symbol, total, positions) for (symbol, positions), total in totals.items())
    return TargetGroups(groups, dict(unproducible))


def unreachable(groups: Iterable[Group], max_count: int) -> list[Group]:
    """The groups whose total is beyond ``max_count`` copies at every one of their positions."""
    return [group for group in groups if group.total > max_count * len(group.positions)]
