"""The two-way map between tokens and ids.

Special symbols come first, in the order given; then tokens by decreasing frequency, ties alphabetically.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

UNKNOWN = "<unk>"


class Vocabulary:
    """Tokens numbered 0..len-1. A token that is absent has the id of `<unk>`, if that is a special."""

    def __init__(self, tokens: Iterable[str], specials: Sequence[str] = ()) -> None:
        """`tokens` in the order of their ids; `specials` go in front and may not recur among them."""
        self.specials = tuple(specials)
        self.tokens = self.specials + tuple(tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            twice = [token for token, count in Counter(self.tokens).items() if count > 1]
            raise ValueError(f"tokens must differ from each other and from the specials; found twice: {twice}")

    @classmethod
    def build(
        cls, sequences: Iterable[Sequence[str]], specials: Sequence[str] = (), min_count: int = 1
    ) -> "Vocabulary":
        """Every token that occurs at least `min_count` times in the sequences, the most frequent first."""
        counts = Counter(token for sequence in sequences for token in sequence)
        kept = [token for token, count in counts.items() if count >= min_count and token not in set(specials)]
        return cls(sorted(kept, key=lambda token: (-counts[token], token)), specials)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self.tokens, self.specials) == (
            other.tokens,
            other.specials,
        )

    def __hash__(self) -> int:
        return hash((self.tokens, self.specials))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens, {len(self.specials)} specials)"

    def id(self, token: str) -> int:
        """The id of the token, or that of `<unk>`; KeyError if the vocabulary has neither."""
        found = self._ids.get(token)
        return self._ids[UNKNOWN] if found is None else found

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """`id` of each."""
        return [self.id(token) for token in tokens]

    def token(self, index: int) -> str:
        """The token with this id."""
        return self.tokens[index]

    def to_list(self) -> list[str]:
        """All tokens in the order of their ids, specials included: JSON for a checkpoint."""
        return list(self.tokens)

    @classmethod
    def from_list(cls, tokens: Sequence[str], specials: Sequence[str] = ()) -> "Vocabulary":
        """The inverse of `to_list`; the list has to begin with the specials."""
        if tuple(tokens[: len(specials)]) != tuple(specials):
            raise ValueError(f"expected a list beginning with {list(specials)}, got {list(tokens[: len(specials)])}")
        return cls(tokens[len(specials) :], specials)
