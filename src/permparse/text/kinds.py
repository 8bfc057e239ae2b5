"""The kind of an output token: the signs around it, if there are signs before it; else its kind in the notation.

In `see(what: cake{near: the table})` both *cake* and *near* are input words. But in training a colon follows every
*near* and no *cake*: one is an operator spelt like a word, the other is a value. Kinds are broad: all operators
followed by a colon are of one kind, wherever they occur in training, and so are all values of one shape.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from permparse.text.notation.symbols import END, START, VARIABLE, Symbols, is_open_class, is_sign, shape

OFTEN = 20
"""How often a token must occur if it is to mean anything that the same sign always follows it."""
EVERYWHERE = 0.2
"""Occurrences for each output from which on this says something of a token that stands behind words as well."""
CLEAR = 0.66
"""Share of the values of one shape that must be of one kind if a new one is taken to be of it."""
USUAL = 0.05
"""Share of its occurrences from which on a token is said to stand behind a sign."""
ANY_WORD, BEGIN, SIGNS = "…", "(", "~"
"""Words; a bracket that opens, or a sign behind one that closes: here an argument begins; signs that differ, or one at
which an argument ends."""


class Sides(NamedTuple):
    """How often each sign, or ANY_WORD, stands before a token and behind it; START and END are signs."""

    before: Counter[str]
    behind: Counter[str]

    @property
    def follower(self) -> str:
        """What is always behind the token; SIGNS if it differs. That some outputs end with it says nothing."""
        signs = self.behind.keys() - {END}
        return next(iter(signs)) if len(signs) == 1 else SIGNS


@dataclass(frozen=True)
class Kinds:
    """``known``: the kinds of tokens that stand between signs; ``usual``: that of a new value, by its shape, if most
    values of this shape by far are of one."""

    symbols: Symbols = field(default_factory=Symbols)
    known: Mapping[str, str] = field(default_factory=dict)
    usual: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, outputs: Iterable[Sequence[str]], symbols: Symbols, brackets: Mapping[str, str]) -> Kinds:
        """From all tokens of training outputs, with those that a notation drops; ``brackets``: the closing one of each
        opening one."""
        outputs, closers = list(outputs), frozenset(brackets.values())
        ends = {*closers, *(right for output in outputs for left, right in pairwise(output) if left in closers)}
        begins = {*brackets, *(sign for sign in ends - closers if is_sign(sign))}
        sides: dict[str, Sides] = defaultdict(lambda: Sides(Counter(), Counter()))
        for output in outputs:
            for left, right in pairwise([START, *output, END]):
                if right != END:
                    sides[right].before[BEGIN if left in begins else _seen(left)] += 1
                if left != START:
                    sides[left].behind[SIGNS if right in ends else _seen(right)] += 1
        words = {
            token: of
            for token, of in sides.items()
            if not (is_sign(token) or token.isdigit() or symbols.of(token)[0] == VARIABLE)
        }
        values = {token for token in words if is_open_class(symbols.of(token))}
        known = _by_sides(
            words, {token for token in values if words[token].before.total() >= EVERYWHERE * len(outputs)}
        )
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for token in values:
            found[shape(token)][known.get(token, shape(token))] += 1
        usual = {of: kinds.most_common(1)[0] for of, kinds in found.items()}
        clear = {of: kind for of, (kind, number) in usual.items() if number >= CLEAR * found[of].total()}
        return cls(symbols, known, clear)

    def of(self, token: str) -> str:
        """The kind of a token."""
        if token in self.known:
            return self.known[token]
        kind, _ = symbol = self.symbols.of(token)
        return self.usual.get(kind, kind) if is_open_class(symbol) else kind

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a checkpoint."""
        return {"known": dict(sorted(self.known.items())), "usual": dict(sorted(self.usual.items()))}

    @classmethod
    def from_json(cls, state: Mapping[str, Mapping[str, str]], symbols: Symbols) -> Kinds:
        """The inverse of `to_json`."""
        return cls(symbols, dict(state.get("known", {})), dict(state.get("usual", {})))


def _seen(token: str) -> str:
    return token if is_sign(token) or token in (START, END) else ANY_WORD


def _by_sides(sides: Mapping[str, Sides], everywhere: Collection[str]) -> dict[str, str]:
    """The kinds of tokens by what they stand between: of those with nothing but signs before them, and of what stands
    everywhere, never last, and is always followed by the same."""
    cluster = _clusters(sides.values())
    found: dict[str, str] = {}
    groups: dict[tuple[str, str], dict[str, Sides]] = defaultdict(dict)
    for token, of in sides.items():
        (before, _), *_ = of.before.most_common(1)
        if cluster[before] not in (ANY_WORD, START):
            groups[shape(token), cluster[before]][token] = of
        elif token in everywhere and of.follower != SIGNS and END not in of.behind:
            found[token] = f"{shape(token)} {ANY_WORD} … {of.follower}"
    for (form, before), group in groups.items():
        found |= {token: f"{form} {before} … {behind}" for token, behind in _followers(group).items()}
    return found


def _clusters(sides: Iterable[Sides]) -> dict[str, str]:
    """Signs that stand before the same tokens have one name: `(` and `,` of `f(a, b)`. A word counts as well."""
    name: dict[str, str] = {}

    def root(sign: str) -> str:
        while name.setdefault(sign, sign) != sign:
            sign = name[sign]
        return sign

    for of in sides:
        total = of.before.total()
        signs = sorted(sign for sign, count in of.before.items() if count >= USUAL * total)
        for sign in signs if total >= OFTEN else ():
            first, other = sorted((root(signs[0]), root(sign)), key=lambda s: (s != ANY_WORD, s == START, s))
            name[other] = first
        for sign in of.before:
            root(sign)
    return {sign: root(sign) for sign in name}


def _followers(group: Mapping[str, Sides]) -> dict[str, str]:
    """What always follows each of these tokens, or SIGNS. A rare token is like those frequent ones that would most
    likely be followed by what follows it."""
    found = {token: of.follower for token, of in group.items() if of.behind.total() >= OFTEN}
    sizes = Counter(found.values())
    free = Counter[str]()
    for token, follower in found.items():
        if follower == SIGNS:
            free += group[token].behind
    for token in group.keys() - found.keys():
        follower, count = group[token].follower, group[token].behind.total()
        likely = free[follower] / free.total() if free else 0.0
        alike = sizes[follower] and (
            not likely or math.log(sizes[follower]) > math.log(sizes[SIGNS]) + count * math.log(likely)
        )
        found[token] = follower if alike else SIGNS
    return found
