"""Cut an output string into tokens and put it together again byte for byte.

Signs are split off where the training outputs have them glued to words; where a blank stands is learned for each pair
of neighbours, and a token that departs from it carries a mark.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

GLUE = "⁀"
"""In front of a token: one means blank where none is usual or none where one is; two and more mean that many blanks."""
ESCAPE = "‿"
"""In front of a token that begins with one of these two signs by itself."""
GLUED = 0.05
"""Share of training outputs that must have a bracket, comma or quotation mark glued to a word."""
PIECE = re.compile(r"[$#@]?\w(?:\w|[^\w\s(){}\[\],;\"=⁀‿](?=\w))*|[^ ]")
"""A word, with signs inside it, or a single sign."""
HARD = re.compile(r"[(){}\[\],;\"]")
WORD = "w"


@final
@dataclass(frozen=True)
class Pieces:
    """How to cut and join: at blanks only, or before and behind signs too; where blanks stand between two classes."""

    at_signs: bool = False
    toggles: frozenset[str] = frozenset()
    blanks: dict[tuple[str, str], bool] = field(default_factory=dict)

    def cut(self, text: str) -> list[str]:
        """The tokens of a string."""
        tokens, classes = [], self._classes()
        left = ""
        end = 0
        for match in self._pieces(text):
            right = classes(match[0])
            gap = match.start() - end
            tokens.append(_marks(gap, self._blank(left, right)) + _escaped(match[0]))
            left, end = right, match.end()
        trailing = len(text) - end
        return [*tokens, GLUE * trailing] if trailing else tokens

    def join(self, tokens: Iterable[str]) -> str:
        """The string of the tokens."""
        text, classes = [], self._classes()
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
        return {"at_signs": self.at_signs, "toggles": sorted(self.toggles), "blanks": blanks}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Pieces":
        """The inverse of `to_json`."""
        blanks = {(left, right): bool(blank) for left, right, blank in data["blanks"]}
        return cls(bool(data["at_signs"]), frozenset(data["toggles"]), blanks)

    def _pieces(self, text: str) -> Iterator[re.Match[str]]:
        return (PIECE if self.at_signs else _CHUNK).finditer(text)

    def _blank(self, left: str, right: str) -> bool:
        """Whether a blank usually stands between two classes; unseen pairs go by either neighbour, then by default."""
        if not left:
            return False
        for pair in ((left, right), ("", right), (left, "")):
            if pair in self.blanks:
                return self.blanks[pair]
        return not self.at_signs or (left == WORD and right == WORD)

    def _classes(self) -> "_Classes":
        return _Classes(self.at_signs, self.toggles)


@final
class _Classes:
    """The class of each token in turn: word, sign, and for a toggle whether it opens or closes."""

    def __init__(self, at_signs: bool, toggles: frozenset[str]) -> None:
        self._at_signs, self._toggles = at_signs, toggles
        self._open: set[str] = set()

    def __call__(self, body: str) -> str:
        if not self._at_signs or any(c.isalnum() or c == "_" for c in body):
            return WORD
        if body in self._toggles:
            self._open ^= {body}
            return body + ("<" if body in self._open else ">")
        return body


def learn_pieces(outputs: Sequence[str]) -> Pieces:
    """Whether signs are glued in these outputs, and where blanks usually stand."""
    glued = sum(any(HARD.search(c) and len(c) > 1 for c in output.split(" ")) for output in outputs)
    if not outputs or glued < GLUED * len(outputs):
        return Pieces()
    matches = [list(PIECE.finditer(output)) for output in outputs]
    toggles = _toggles([Counter(match[0] for match in line) for line in matches])
    votes: Counter[tuple[str, str]] = Counter()
    for line in matches:
        classes = _Classes(True, toggles)
        kinds = [classes(match[0]) for match in line]
        for number in range(1, len(line)):
            vote = 1 if line[number].start() > line[number - 1].end() else -1
            for pair in ((kinds[number - 1], kinds[number]), ("", kinds[number]), (kinds[number - 1], "")):
                votes[pair] += vote
    return Pieces(True, toggles, {pair: votes[pair] > 0 for pair in sorted(votes)})


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
