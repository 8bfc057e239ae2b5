"""Keys, which stand at most once inside a bracket: which of them stand together, and behind which heads.

So a closing bracket is implied in places where training outputs never have one. Behind the `nmod` of an agent, `theme`
must be that of the verb further out, because no bracket that begins with `nmod` has a `theme`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

from permparse.text.notation.symbols import NOTHING, Symbol, is_sign

SEEN = 10
"""Brackets from which on a head without some key is taken to have none."""


class Bracket(NamedTuple):
    """The token in front of a bracket, the first inside, all of a closed class that are directly inside, and the last
    of these if nothing follows it."""

    head: Symbol
    first: Symbol
    inside: Sequence[Symbol]
    last: Symbol | None


@final
@dataclass(frozen=True)
class Company:
    """Keys; their kinds seen in brackets that begin with each kind; those seen behind each head that has many
    brackets."""

    keys: frozenset[str] = frozenset()
    together: Mapping[str, frozenset[str]] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, brackets: Iterable[Bracket]) -> "Company":
        """From the brackets of training outputs."""
        found = list(brackets)
        keys = _keys(found)
        together: dict[str, set[str]] = defaultdict(set)
        behind: dict[str, set[str]] = defaultdict(set)
        number = Counter(bracket.head[1] for bracket in found)
        for bracket in found:
            inside = [(kind, name) for kind, name in bracket.inside if name in keys]
            together[bracket.first[0]].update(kind for kind, _ in inside)
            behind[bracket.head[1]].update(name for _, name in inside)
        return cls(
            keys,
            {first: frozenset(kinds) for first, kinds in together.items() if kinds},
            {head: frozenset(names) for head, names in behind.items() if keys and number[head] >= SEEN},
        )

    def belongs_outside(self, symbol: Symbol, open_brackets: Sequence[Bracket]) -> bool:
        """Whether a key fits one of the outer open brackets better than the innermost, which is the last."""
        here = self._fit(symbol, open_brackets[-1])
        return any(self._fit(symbol, bracket) > here for bracket in open_brackets[:-1])

    def _fit(self, symbol: Symbol, bracket: Bracket) -> int:
        """0 where it cannot stand, 1 where it is new behind the head, else 2."""
        kind, name = symbol
        new = name not in self.behind.get(bracket.head[1], self.keys)
        if bracket.first != NOTHING:
            kinds = self.together.get(bracket.first[0], frozenset())
            if bracket.first[1] not in self.keys or symbol in bracket.inside or kind not in kinds:
                return 0
        return 1 if new else 2


def _keys(brackets: Sequence[Bracket]) -> frozenset[str]:
    """The types that no bracket has twice, and that something always follows: a value ends a bracket now and then."""
    seen: set[str] = set()
    others: set[str] = set()
    for bracket in brackets:
        names = [name for _, name in bracket.inside]
        seen.update(names)
        others.update(name for name in names if names.count(name) > 1 or is_sign(name))
        if bracket.last is not None:
            others.add(bracket.last[1])
    return frozenset(seen - others)
