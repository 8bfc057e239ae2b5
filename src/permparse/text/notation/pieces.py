"""Split an output string into tokens and join them again byte for byte.

Signs are split off where training outputs attach them to words, and values are split where they are spelt differently
from the input. Whether there is a blank is learned for each pair of neighbours; a token that deviates carries a mark.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

from permparse.text.notation.spellings import Spellings, find_spellings

GLUE = "⁀"
"""In front of a token: one means blank where none is usual or none where one is; two and more mean that many blanks."""
ESCAPE = "‿"
"""In front of a token that begins with one of these two signs by itself."""
GLUED = 0.05
"""Share of training outputs that must have a bracket, comma or quotation mark glued to a word."""
PIECE = re.compile(r"[$#@?]?\w(?:\w|[^\w\s(){}\[\],;\"=⁀‿](?=\w))*|[^ ]")
"""A word, with signs inside it, or a single sign."""
HARD = re.compile(r"[(){}\[\],;\"]")
QUOTES = "'`"
"""What may also be an apostrophe quotes if it stands before one word and behind the same or a later one."""
WORD = "w"


@final
@dataclass(frozen=True)
class Pieces:
    """How to cut and join: at blanks only, or before and behind signs too; where blanks stand between two classes."""

    at_signs: bool = False
    toggles: frozenset[str] = frozenset()
    blanks: dict[tuple[str, str], bool] = field(default_factory=dict)
    spellings: Spellings = field(default_factory=Spellings)

    def cut(self, text: str) -> list[str]:
        """The tokens of a string."""
        tokens, classes = [], self.classes()
        left = ""
        for gap, body in self.bodies(text):
            right = classes(body)
            tokens.append(_marks(gap, self._blank(left, right)) + _escaped(body))
            left = right
        trailing = len(text) - len(text.rstrip(" "))
        return [*tokens, GLUE * trailing] if trailing else tokens

    def bodies(self, text: str) -> Iterator[tuple[int, str]]:
        """The tokens as they stand in the string, each with the number of blanks in front of it."""
        end = 0
        for match in (PIECE if self.at_signs else _CHUNK).finditer(text):
            gap, end = match.start() - end, match.end()
            for part in self.spellings.cut(match[0]):
                yield gap, part
                gap = 0

    def join(self, tokens: Iterable[str]) -> str:
        """The string of the tokens."""
        text, classes = [], self.classes()
        left = ""
        for token in tokens:
            body = token.lstrip(GLUE)
            marks = len(token) - len(body)
            if not body:
                text.append(" " * marks)
                continue
            body = body.removeprefix(ESCAPE)
            right = classes(body)
            usual = self._blank(left, right)
            text.append(" " * (marks if marks > 1 else usual != bool(marks)) + body)
            left = right
        return "".join(text)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a checkpoint."""
        blanks = [[*pair, blank] for pair, blank in self.blanks.items()]
        return {
            "at_signs": self.at_signs,
            "toggles": sorted(self.toggles),
            "blanks": blanks,
            "spellings": self.spellings.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Pieces":
        """The inverse of `to_json`."""
        blanks = {(left, right): bool(blank) for left, right, blank in data["blanks"]}
        spellings = Spellings.from_json(data["spellings"]) if "spellings" in data else Spellings()
        return cls(bool(data["at_signs"]), frozenset(data["toggles"]), blanks, spellings)

    def _blank(self, left: str, right: str) -> bool:
        """Whether a blank usually stands between two classes; unseen pairs go by either neighbour, then by default."""
        if not left:
            return False
        for pair in ((left, right), ("", right), (left, "")):
            if pair in self.blanks:
                return self.blanks[pair]
        return not self.at_signs or (left == WORD and right == WORD)

    def classes(self) -> "_Classes":
        """The class of each token of one output in turn."""
        return _Classes(self.at_signs, self.toggles, self.spellings.between)


@final
class _Classes:
    """The class of each token in turn: word, sign or tag of a value, and for a toggle whether it opens or closes."""

    def __init__(self, at_signs: bool, toggles: frozenset[str], between: frozenset[str]) -> None:
        self._at_signs, self._toggles, self._between = at_signs, toggles, between
        self._open: set[str] = set()

    def __call__(self, body: str) -> str:
        if body in self._between:
            return body
        if not self._at_signs or any(c.isalnum() or c == "_" for c in body):
            return WORD
        if body in self._toggles:
            self._open ^= {body}
            return body + ("<" if body in self._open else ">")
        return body


def learn_pieces(pairs: Sequence[tuple[Sequence[str], str]]) -> Pieces:
    """From inputs and outputs: whether signs are glued, how values are spelled, and where blanks usually stand."""
    at_signs = bool(pairs) and sum(_is_glued(output) for _, output in pairs) >= GLUED * len(pairs)
    plain = Pieces(at_signs)
    bodies = [[body for _, body in plain.bodies(output)] for _, output in pairs]
    toggles = _toggles([Counter(line) for line in bodies]) if at_signs else frozenset[str]()
    spellings = find_spellings(zip((source for source, _ in pairs), bodies, strict=True))
    if not (at_signs or spellings.frames):
        return plain
    pieces = Pieces(at_signs, toggles, spellings=spellings)
    votes: Counter[tuple[str, str]] = Counter()
    for _, output in pairs:
        classes, left = pieces.classes(), ""
        for gap, body in pieces.bodies(output):
            right = classes(body)
            if left:
                for pair in ((left, right), ("", right), (left, "")):
                    votes[pair] += 1 if gap else -1
            left = right
    return replace(pieces, blanks={pair: votes[pair] > 0 for pair in sorted(votes)})


def _is_glued(output: str) -> bool:
    """Whether a bracket, comma or quotation mark stands beside a word without a blank."""
    chunks = output.split(" ")
    return any(HARD.search(chunk) and len(chunk) > 1 for chunk in chunks) or any(
        len(chunk) > 1 and chunk[0] == quote and any(other.endswith(quote) for other in chunks[at:])
        for at, chunk in enumerate(chunks)
        for quote in QUOTES
    )


def _toggles(counts: Sequence[Counter[str]]) -> frozenset[str]:
    """Signs of which nearly every output has an even number."""
    signs = {token for count in counts for token in count if not any(c.isalnum() or c == "_" for c in token)}
    even = {sign: [count[sign] % 2 == 0 for count in counts if sign in count] for sign in signs}
    return frozenset(sign for sign, found in even.items() if sum(found) >= 0.98 * len(found))


def _marks(gap: int, usual: bool) -> str:
    """What a token carries so that `gap` blanks come before it."""
    return "" if gap == usual else GLUE * max(gap, 1)


def _escaped(body: str) -> str:
    return ESCAPE + body if body.startswith((GLUE, ESCAPE)) else body


_CHUNK = re.compile(r"[^ ]+?(?=['’]\w{1,2}(?: |$))|[^ ]+")
"""What stands between blanks, a clitic by itself, so that the rest of a value can be copied: Ana's ↦ Ana 's."""
