"""Who can produce which token of an output: a word by the lexicon (LEX), a position by its number (VAR), or any word.

The one place that knows what LEX and VAR are and which tokens name positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEX = "<lex>"
"""The symbol whose multiplicity at position i counts copies of the lexicon's token L(x_i)."""
VAR = "<var>"
"""The symbol whose multiplicity at position i counts copies of the variable numbered i."""
SPECIAL_SYMBOLS = (LEX, VAR)
"""The symbols that are no output tokens themselves; they come first in every vocabulary of symbols."""


class Copies(NamedTuple):
    """``number`` copies of ``symbol``, which ``positions`` produce together.

    In a gold output the counts at these positions add up to ``number``; as a hint, a single position produces at least
    so many; from an aligner, ``symbol`` is the output token as it stands.
    """

    symbol: str
    number: int
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """A gold output as copies of symbols, and the tokens (with multiplicity) that no symbol can produce.

    Every cell (position, symbol) belongs to at most one of the copies; a cell in none has gold count zero.
    """

    copies: tuple[Copies, ...]
    unproducible: dict[str, int]


def is_variable(token: str) -> bool:
    """Whether the token is a decimal number without leading zeros: the variable of that input position."""
    return token.isascii() and token.isdigit() and (token == "0" or token[0] != "0")


class Producers:
    """The symbol and the positions that can produce each token of an output of one sentence.

    ``lexical[i]`` is what the lexicon makes of the i-th word (None: nothing). With ``variables``, a number p below the
    length of the sentence is the variable of position p, and only that position can produce it. Otherwise a token that
    the lexicon gives for some word is produced by those words alone, and any other token of ``symbols`` by every
    position, through its own symbol.
    """

    def __init__(self, lexical: Sequence[str | None], symbols: Collection[str], variables: bool = False) -> None:
        self._everywhere = tuple(range(len(lexical)))
        self._symbols, self._variables = symbols, variables
        self._lexical: dict[str, tuple[int, ...]] = {}
        for i, token in enumerate(lexical):
            if token is not None:
                self._lexical[token] = (*self._lexical.get(token, ()), i)

    def of(self, token: str) -> tuple[str, tuple[int, ...]] | None:
        """Symbol and positions, or None if nothing can produce the token."""
        if self._variables and is_variable(token) and int(token) < len(self._everywhere):
            return VAR, (int(token),)
        if token in self._lexical:
            return LEX, self._lexical[token]
        if token in self._symbols and self._everywhere:
            return token, self._everywhere
        return None

    def symbol(self, token: str) -> str:
        """The symbol of a token; the token itself if nothing can produce it."""
        found = self.of(token)
        return token if found is None else found[0]

    def target(self, tokens: Iterable[str]) -> Target:
        """An output as copies of symbols."""
        totals: Counter[tuple[str, tuple[int, ...]]] = Counter()
        unproducible: Counter[str] = Counter()
        for token in tokens:
            found = self.of(token)
            if found is None:
                unproducible[token] += 1
            else:
                totals[found] += 1
        copies = tuple(Copies(symbol, count, positions) for (symbol, positions), count in totals.items())
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
            found = self.of(target[index])
            if found is not None and found[0] in SPECIAL_SYMBOLS:
                following = index
            homes.append(following)
            if found is not None and found[0] not in SPECIAL_SYMBOLS and adjacent:
                following = None
        return self.attributed(target, homes[::-1])

    def attributed(self, target: Sequence[str], homes: Sequence[int | None]) -> list[Copies]:
        """The ordinary tokens of a target at the position of the token that ``homes`` names for each, by its index.

        A token without a home, or whose home several positions could produce, is left out.
        """
        count: Counter[tuple[int, str]] = Counter()
        for token, home in zip(target, homes, strict=True):
            found, at = self.of(token), None if home is None else self.of(target[home])
            if found is None or at is None or found[0] in SPECIAL_SYMBOLS or at[0] not in SPECIAL_SYMBOLS:
                continue
            if len(at[1]) == 1:
                count[at[1][0], found[0]] += 1
        return [Copies(symbol, copies, (position,)) for (position, symbol), copies in sorted(count.items())]


def unreachable(copies: Iterable[Copies], max_count: int) -> list[Copies]:
    """The copies that are too many even with ``max_count`` at every one of their positions."""
    return [group for group in copies if group.number > max_count * len(group.positions)]
