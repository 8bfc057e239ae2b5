"""Choose the types to drop: signs first, then words that no input word expresses, then those their head implies.

A type is dropped if rules restore it in long held-out outputs and still restore the types dropped before as well.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import sqrt
from typing import TypeAlias, final

from permparse.text.notation.ends import Ends
from permparse.text.notation.evidence import Evidence, Said
from permparse.text.notation.fit import Fit
from permparse.text.notation.symbols import START, Symbols, is_sign

OFTEN = 0.01
"""Share of outputs that must have a type for it to be dropped, or to be the head of such a type."""
FRAME = 0.05
"""Share of outputs that must have a word without a head for it to be dropped."""
RESTORED_SIGN, RESTORED_WORD, RESTORED_END = 0.9, 0.95, 0.98
"""Share of its held-out tokens that rules must restore: an end that is restored at the end of an output alone would be
kept more often in each deeper one."""
HOPELESS = 0.85
"""Types restored less often than this are given up together, others one by one."""
FEW = 4
"""So many failed types are compared one by one."""
HARM, HARM_BOLD, HARM_TOGETHER = 0.02, 0.15, 0.002
"""Tokens dropped before that may be lost for each token newly dropped, alone or with others, beyond chance."""
HEADED = 0.8
"""Share of tokens that follow a head which nearly always has such a token behind it."""

Fitting: TypeAlias = Callable[[frozenset[str]], Fit]


class Level(IntEnum):
    """How much to drop; each level includes those before."""

    NOTHING = 0
    SIGNS = 1
    """Brackets, separators, quotation marks, bound variables."""
    WORDLESS = 2
    """Also words that no word of the input says."""
    FULL = 3
    """Also words that the token in front of them implies."""
    BOLD = 4
    """Also such words at the price of more exceptions: to be judged by a trial run of the tagger."""


@final
@dataclass(frozen=True)
class Group:
    """Types that are tried together, the share that must be restored, and the harm that one may do; which of them are
    ends, of which a larger share must be; whether it is all of them or none, as with the names of variables."""

    types: frozenset[str]
    restored: float
    harm: float
    ends: frozenset[str] = frozenset()
    united: bool = False

    def failed(self, found: Fit) -> list[str]:
        """The types that are not restored, the worst first."""
        if self.united:
            return sorted(self.types) if found.restored(self.types) < self.restored else []
        share = {token: found.restored([token]) for token in self.types}
        failed = [t for t in share if share[t] < (RESTORED_END if t in self.ends else self.restored)]
        return sorted(failed, key=lambda token: (share[token], token))


def candidates(
    known: Mapping[str, Evidence],
    outputs: Sequence[Sequence[str]],
    symbols: Symbols,
    ends: Ends,
    keys: frozenset[str],
    tags: frozenset[str],
    level: Level,
) -> list[Group]:
    """Groups of types in the order in which they are tried. Keys stay: they say where brackets end. Tags go with their
    values, whatever word seems to say them."""
    often = {
        t
        for t, e in known.items()
        if e.outputs >= max(5, OFTEN * len(outputs)) and (e.said is not Said.BY_A_WORD or t in tags)
    }
    variables = frozenset(t for t in known if symbols.number(t) is not None)
    signs = frozenset(t for t in often - variables if is_sign(t) or t in ends.names or t in tags)
    words = frozenset(t for t in often - variables - signs - keys if not t.isdigit())
    wordless = frozenset(t for t in words if known[t].wordless and known[t].outputs >= FRAME * len(outputs))
    headed = (words - wordless) & _headed(outputs, signs | variables)
    groups = [
        (Level.SIGNS, Group(signs, RESTORED_SIGN, HARM, frozenset(ends.names))),
        (Level.SIGNS, Group(variables, RESTORED_SIGN, HARM, united=True)),
        (Level.WORDLESS, Group(wordless, RESTORED_WORD, HARM)),
        (Level.FULL, Group(headed, RESTORED_WORD, HARM)),
        (Level.BOLD, Group(wordless | headed, RESTORED_SIGN, HARM_BOLD)),
    ]
    return [group for least, group in groups if least <= level]


def choose_types(groups: Iterable[Group], fitting: Fitting) -> frozenset[str]:
    """All types worth dropping, found group by group."""
    dropped: frozenset[str] = frozenset()
    losses = 0
    for group in groups:
        dropped, losses = _extend(dropped, losses, replace(group, types=group.types - dropped), fitting)
    return dropped


def _extend(dropped: frozenset[str], losses: int, group: Group, fitting: Fitting) -> tuple[frozenset[str], int]:
    """Drop as much of a group as is restored: all at once if that does no harm, else by halves."""
    pool, alone = group.types, len(group.types) == 1 or group.united
    while pool:
        found = fitting(dropped | pool)
        failed = replace(group, types=pool).failed(found)
        tolerated = 1 + 2 * sqrt(losses) + (group.harm if alone else HARM_TOGETHER) * sum(found.total[t] for t in pool)
        if not group.ends.isdisjoint(failed):  # An end that is not there where it should be spoils all that follows.
            pool -= group.ends.intersection(failed)
        elif failed and group.united:
            break
        elif failed:
            pool -= _given_up(dropped, pool, failed, found, fitting)
        elif found.losses(dropped) - losses <= tolerated:
            return dropped | pool, found.losses(dropped | pool)
        elif alone:
            break
        else:
            ordered = sorted(pool, key=lambda token: (-found.total[token], token))
            for half in (ordered[: (len(ordered) + 1) // 2], ordered[(len(ordered) + 1) // 2 :]):
                dropped, losses = _extend(dropped, losses, replace(group, types=frozenset(half)), fitting)
            break
    return dropped, losses


def _given_up(
    dropped: frozenset[str], pool: frozenset[str], failed: Sequence[str], found: Fit, fitting: Fitting
) -> frozenset[str]:
    """Of types that are not restored together, the one without which the least is kept; the hopeless ones if many."""
    if len(failed) > FEW:
        return frozenset(t for t in failed if t == failed[0] or found.restored([t]) < HOPELESS)

    def kept_without(token: str) -> int:
        others = (dropped | pool) - {token}
        return found.total[token] + fitting(others).losses(others)

    return frozenset([failed[0] if len(failed) == 1 else min(failed, key=kept_without)])


def _headed(outputs: Sequence[Sequence[str]], signs: frozenset[str]) -> frozenset[str]:
    """Types that nearly always follow a head, signs aside, that nearly always has this type behind it."""
    often = max(5, OFTEN * len(outputs))
    heads: Counter[str] = Counter()
    behind: dict[str, Counter[str]] = defaultdict(Counter)
    for output in outputs:
        content = [token for token in output if token not in signs]
        for head, token in zip([START, *content], content, strict=False):
            heads[head] += 1
            behind[token][head] += 1
    return frozenset(
        token
        for token, found in behind.items()
        if sum(n for head, n in found.items() if n >= HEADED * heads[head] and heads[head] >= often)
        >= HEADED * found.total()
    )
