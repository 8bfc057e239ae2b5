"""What can produce a token of an output: a word through the lexicon (LEX), a position as its variable (VAR), any word.

The one place that knows what LEX and VAR are and which tokens name positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

LEX = "<lex>"
"""The symbol whose multiplicity at position i counts copies of the lexicon's token L(x_i)."""
VAR = "<var>"
"""The symbol whose multiplicity at position i counts copies of the variable numbered i."""
SPECIAL_SYMBOLS = (LEX, VAR)
"""The symbols that are no output tokens themselves; they come first in every vocabulary of symbols."""


class Copies(NamedTuple):
    """``number`` copies of a token, which ``positions`` produce together: each through ``symbol``, but those that are
    also in ``copying`` through LEX.

    In a gold output the counts at these positions add up to ``number``; as a hint, a single position produces at least
    so many; from an aligner, ``symbol`` is the output token as it stands.
    """

    symbol: str
    number: int
    positions: tuple[int, ...]
    copying: tuple[int, ...] = ()

    def symbol_at(self, position: int) -> str:
        """The symbol through which a position produces the token."""
        return LEX if position in self.copying else self.symbol


@dataclass(frozen=True)
class Target:
    """A gold output as copies of symbols, and the tokens (with multiplicity) that no symbol can produce.

    Every cell (position, symbol) belongs to at most one of the copies; a cell in none has gold count zero.
    """

    copies: tuple[Copies, ...]
    unproducible: dict[str, int]


def is_variable(token: str) -> bool:
    """Whether the token is a decimal number without leading zeros: the variable of that input position."""
    return token.isdigit() and token.isascii() and (token == "0" or token[0] != "0")


class Producers:
    """The symbols and the positions that can produce each token of an output of one sentence.

    ``lexical[i]`` is what the lexicon makes of the i-th word (None: nothing). With ``variables``, a number p below the
    length of the sentence is the variable of position p, and only that position can produce it. Any other token may
    come from the words that the lexicon maps to it, through LEX, and, if it is in ``symbols``, from every other
    position through its own symbol (appendix C.2 of the paper).
    """

    def __init__(self, lexical: Sequence[str | None], symbols: Collection[str], variables: bool = False) -> None:
        self._lexical, self._everywhere = lexical, tuple(range(len(lexical)))
        self._symbols, self._variables = symbols, variables

    @cached_property
    def _copying(self) -> dict[str, tuple[int, ...]]:
        copying: dict[str, tuple[int, ...]] = {}
        for i, token in enumerate(self._lexical):
            if token is not None:
                copying[token] = (*copying.get(token, ()), i)
        return copying

    def of(self, token: str) -> Copies | None:
        """One copy of the token, or None if nothing can produce it."""
        if self._variables and is_variable(token) and int(token) < len(self._everywhere):
            return Copies(VAR, 1, (int(token),))
        copying = self._copying.get(token, ())
        if token in self._symbols and self._everywhere:
            return Copies(token, 1, self._everywhere, copying)
        return Copies(LEX, 1, copying, copying) if copying else None

    def value_positions(self, token: str) -> tuple[int, ...]:
        """Where a value comes from: the position of a variable, or the words that the lexicon maps to the token; none
        for a token that is no value."""
        found = self.of(token)
        if found is None:
            return ()
        return found.positions if found.symbol == VAR else found.copying

    def kinds(self, tokens: Iterable[str]) -> list[str]:
        """For each token VAR or LEX if it is a value of the sentence, else the token itself."""
        copied, positions = frozenset(self._lexical), len(self._everywhere)
        named = self._variables
        return [
            VAR if named and is_variable(token) and int(token) < positions else LEX if token in copied else token
            for token in tokens
        ]

    def target(self, tokens: Iterable[str]) -> Target:
        """An output as copies of symbols."""
        totals: Counter[Copies] = Counter()
        unproducible: Counter[str] = Counter()
        for token in tokens:
            found = self.of(token)
            if found is None:
                unproducible[token] += 1
            else:
                totals[found] += 1
        copies = tuple(one._replace(number=number) for one, number in totals.items())
        return Target(copies, dict(unproducible))

    def anchored(self, target: Sequence[str], adjacent: bool = False) -> list[Copies]:
        """A guess where the ordinary tokens of a target come from: the word behind the token that they precede.

        Operators stand before their arguments in most output languages. So a token that any position could produce is
        attributed to the position of the next token that a variable or the lexicon accounts for; to none if there is no
        such token or several positions could produce it, nor, if ``adjacent``, if another ordinary token stands
        between.
        """
        homes: list[int | None] = []
        following: int | None = None
        for index in reversed(range(len(target))):
            is_value = bool(self.value_positions(target[index]))
            if is_value:
                following = index
            homes.append(following)
            if not is_value and adjacent and self.of(target[index]) is not None:
                following = None
        return self.attributed(target, homes[::-1])

    def attributed(
        self, target: Sequence[str], homes: Sequence[int | None], known: Mapping[str, int] | None = None
    ) -> list[Copies]:
        """The ordinary tokens of a target at the position of the token that ``homes`` names for each, by its index;
        ``known`` are positions of homes that are ordinary tokens themselves.

        A token without a home, or whose home several positions could produce, is left out.
        """
        count: Counter[tuple[int, str]] = Counter()
        for token, home in zip(target, homes, strict=True):
            found = self.of(token)
            at = () if home is None else self.value_positions(target[home])
            if home is not None and not at and known and target[home] in known:
                at = (known[target[home]],)
            if found is not None and not self.value_positions(token) and len(at) == 1:
                count[at[0], found.symbol] += 1
        return [Copies(symbol, copies, (position,)) for (position, symbol), copies in sorted(count.items())]


def unreachable(copies: Iterable[Copies], max_count: int) -> list[Copies]:
    """The copies that are too many even with ``max_count`` at every one of their positions."""
    return [group for group in copies if group.number > max_count * len(group.positions)]
