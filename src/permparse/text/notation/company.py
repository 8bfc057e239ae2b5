"""Keys, which occur at most once in a bracket: which keys occur together, and after which heads.

So brackets are implied even in positions where training outputs never have one. After the `nmod` of an agent, `theme`
must belong to the verb further out, because no bracket that begins with `nmod` contains a `theme`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, final

from permparse.text.notation.brackets import Brackets
from permparse.text.notation.symbols import NONE, NOTHING, SHAPES, SIGN, START, Symbol, is_sign

HERE, OUTSIDE, NEW = "here", "outside", "new"
"""Where the next key belongs: in the innermost open bracket, in one further out, in one that opens now."""
HEADED = 0.95
"""Share of brackets behind a word, as in f(key = x): where they begin with what they belong to, as in Lisp, that is no
key."""
FEW = 12
"""Keys that are words of inputs: more of them are an open class."""
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
    """Keys; their kinds seen in brackets that begin with each; those seen behind each head that has many brackets;
    those that brackets behind each kind of head begin with."""

    keys: frozenset[str] = frozenset()
    together: Mapping[str, frozenset[str]] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)
    begin: Mapping[str, frozenset[str]] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()
    """Keys that a sign always follows, as in `agent = …` and `nmod . on = …`: they name what comes."""

    @classmethod
    def of(cls, brackets: Iterable[Bracket]) -> "Company":
        """From the brackets of training outputs."""
        found = list(brackets)
        headed = sum(bracket.head[1] not in (START, NONE, SIGN) and not is_sign(bracket.head[1]) for bracket in found)
        keys = _keys(found) if headed >= HEADED * len(found) else frozenset[str]()
        together: dict[str, set[str]] = defaultdict(set)
        behind: dict[str, set[str]] = defaultdict(set)
        begin: dict[str, set[str]] = defaultdict(set)
        number = Counter(bracket.head[1] for bracket in found if keys and bracket.head[1] not in SHAPES)
        for head, first, inside, _ in found:
            known = [(kind, name) for kind, name in inside if name in keys]
            together[first[1]].update(kind for kind, _ in known)
            behind[head[1]].update(name for _, name in known)
            begin[head[0]].update({first[1]} & keys)
        return cls(
            keys,
            {first: frozenset(kinds) for first, kinds in together.items() if kinds},
            {
                head: frozenset(of)
                for head, of in behind.items()
                if keys and number[head] >= SEEN and head not in SHAPES
            },
            {kind: frozenset(names) for kind, names in begin.items() if names},
        )

    def place(self, key: Symbol, previous: Symbol, open_brackets: Sequence[Bracket]) -> str:
        """Where a key behind ``previous`` belongs: where it has been seen, else where it may stand; if that does not
        tell, rather in a new bracket than here, and rather here than outside."""
        name = key[1]
        new = 2 if name in self.behind.get(previous[1], ()) else int(name in self.begin.get(previous[0], ()))
        here = self._fit(key, open_brackets[-1])
        outside = max((self._fit(key, bracket) for bracket in open_brackets[:-1]), default=0)
        best = max(new, here, outside)
        return NEW if best == new > 0 else HERE if best == here else OUTSIDE

    def _fit(self, symbol: Symbol, bracket: Bracket) -> int:
        """0 where it cannot stand, 1 where it is new behind the head, else 2."""
        kind, name = symbol
        if bracket.first != NOTHING:
            kinds = self.together.get(bracket.first[1], frozenset())
            if bracket.first[1] not in self.keys or symbol in bracket.inside or kind not in kinds:
                return 0
        return 1 + (name in self.behind.get(bracket.head[1], self.keys))


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


def always_followed(outputs: Iterable[Sequence[str]], brackets: Brackets) -> dict[str, set[str]]:
    """Tokens that a sign always follows, with these signs, of which none is a bracket."""
    followed: dict[str, set[str]] = defaultdict(set)
    for output in outputs:
        for token, following in pairwise((*output, "")):
            followed[token].add(following)
    return {
        token: signs
        for token, signs in followed.items()
        if all(sign and is_sign(sign) for sign in signs) and signs.isdisjoint(brackets.tokens)
    }


def named_like_words(outputs: Iterable[Sequence[str]], copied: Collection[str], brackets: Brackets) -> frozenset[str]:
    """Keys that happen to be words of inputs as well, as `near` of `judge{near: market}`. Like other keys they are
    always followed by the same sign, and they are few."""
    always = {token: min(signs) for token, signs in always_followed(outputs, brackets).items() if len(signs) == 1}
    signs = {sign for token, sign in always.items() if token not in copied}
    found: dict[str, set[str]] = defaultdict(set)
    for token, sign in always.items():
        if token in copied and sign in signs:
            found[sign].add(token)
    return frozenset(token for tokens in found.values() if len(tokens) <= FEW for token in tokens)
