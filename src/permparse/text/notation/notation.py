"""A notation: output tokens that the others imply are dropped, and restored exactly.

restore(shorten(y)) == y for every y: tokens that rules do not restore are kept, and marked if rules would insert one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from permparse.text.notation.actions import EMIT, token_for
from permparse.text.notation.tree import Node
from permparse.text.notation.walk import Ahead, Language, View, Walk, look_ahead

MARK = "§"
"""In front of a kept token: nothing is inserted before it. Alone at the end: nothing is inserted there."""
LONGEST_RUN = 24
"""Tokens of dropped types in a row, beyond four for each open bracket, after which rules insert no more."""
MOST_RUN = 100
"""However many brackets are open: a rule that keeps opening brackets must end, too."""


@final
@dataclass(frozen=True)
class Notation:
    """Rules that say which token to insert in which state.

    A kept token of a type that is otherwise dropped is an exception. It comes where rules insert nothing, or where
    they would insert a token that it `overrides`: (inserted, exception) pairs that rules confuse in training.
    """

    language: Language = field(default_factory=Language)
    rules: Node = field(default_factory=Node)
    overrides: frozenset[tuple[str, str]] = frozenset()

    def shorten(self, tokens: Sequence[str]) -> list[str]:
        """The tokens that rules do not restore. O(n)."""
        return [token for _, token in self.kept(tokens)]

    def heads(self, tokens: Sequence[str], kept: Sequence[int]) -> list[int | None]:
        """For each assigned key among the tokens that are kept, given by their indices, the number of the one in front
        of its bracket; None for all else, and where that one is dropped."""
        number = {at: i for i, at in enumerate(kept)}
        walk, before, head_of = Walk(self.language), list[int](), dict[int, int]()
        for at, token in enumerate(self.language.ends.named(tokens)):
            if token in self.language.company.assigned and before:
                head_of[at] = before[-1]
            depth = len(walk.levels)
            walk.push(token)
            if len(walk.levels) > depth:
                before.append(at - 1)
            elif len(walk.levels) < depth:
                before.pop()
        return [number.get(head_of.get(at, -1)) for at in kept]

    def kept(self, tokens: Sequence[str]) -> list[tuple[int, str]]:
        """The tokens that rules do not restore, with their indices, marked where need be. O(n)."""
        if not all(tokens):
            raise ValueError(f"a token of an output may not be empty: {list(tokens)}")
        tokens, dropped = self.language.ends.named(tokens), self.language.dropped
        kept: list[tuple[int, str]] = []
        following = ""
        guesses = self.guesses(tokens)
        for at, token in reversed(list(enumerate((*tokens, "")))):
            guess, exception = guesses[at], token in dropped
            if exception and token == guess and not following.startswith(MARK) and not self._yields(guess, following):
                continue
            stays = guess == EMIT or (exception and self._yields(guess, token))
            following = token if stays and not token.startswith(MARK) else MARK + token
            if following:
                kept.append((at, following))
        return kept[::-1]

    def restore(self, short: Sequence[str]) -> list[str]:
        """All tokens. Any sequence has an answer; one that `shorten` would not have made, whatever comes of it."""
        last = MARK if short and short[-1] == MARK else ""
        kept = [token for token in short if token.removeprefix(MARK)]
        content = [token.removeprefix(MARK) for token in kept]
        walk, tokens = Walk(self.language), list[str]()
        for sign, token, view in zip(
            (*kept, last), (*content, ""), look_ahead(content, self.language.dropped), strict=True
        ):
            while not sign.startswith(MARK):
                guess = self.guess(walk, view)
                if guess == EMIT or self._yields(guess, token):
                    break
                walk.push(guess)
                tokens.append(guess)
            if token:
                walk.push(token)
                tokens.append(token)
        return self.language.ends.plain(tokens)

    def has_exception(self, short: Sequence[str]) -> bool:
        """Whether a shortened output holds a mark, or a token that is otherwise dropped."""
        return any(token.startswith(MARK) or token in self.language.dropped for token in short)

    def guesses(self, tokens: Sequence[str]) -> list[str]:
        """What rules would insert in front of each token, and at the end."""
        walk, found = Walk(self.language), []
        for token, view in zip((*tokens, ""), look_ahead(tokens, self.language.dropped), strict=True):
            found.append(self.guess(walk, view))
            if token:
                walk.push(token)
        return found

    def guess(self, walk: Walk, ahead: Ahead) -> str:
        """The token that rules insert in this state; EMIT if none."""
        if walk.run >= min(LONGEST_RUN + 4 * len(walk.levels), MOST_RUN):
            return EMIT
        token = token_for(walk, self.rules.leaf(View(walk, ahead)).action)
        return token if token in self.language.dropped and not walk.closes_nothing(token) else EMIT

    def _yields(self, guess: str, following: str) -> bool:
        """Whether an insertion gives way to the exception that follows."""
        alike = self.language.symbols.alike
        return following in self.language.dropped and (alike(guess), alike(following)) in self.overrides
