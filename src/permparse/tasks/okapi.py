"""Okapi: requests in English to API calls for calendar, document and email.

Sentences and outputs are cut by the same rules, so that every word of a value can be copied: Ana's ↦ Ana 's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, final

from permparse.tasks.base import Metric, Task, or_verbatim, unmarked
from permparse.tasks.downloads import data_folder
from permparse.tasks.okapi_short import leave_out, put_back
from permparse.text import Example
from permparse.text.tokenizers import english_tokens

CLAUSES = ("GET", "FILTER", "SEARCH", "ORDERBY", "COUNT", "TOP")
ABOUT = {"calendar": "events", "document": "files", "email": "messages"}
APART = "␣"
"""Begins a token that stands by itself although it would join its neighbours: Babicki ␣- NY."""
JOINS_BOTH = frozenset("-/")
JOINS_LEFT = frozenset((")", ",", ".", "!", "?", ":", ";", "'s", "’s", "'", "n't", "%"))
JOINS_RIGHT = frozenset(("(", "*", "#", "$"))


@final
@dataclass(frozen=True)
class Okapi(Task):
    """Clause sets are compared without regard to case, as the sentences spell names in lower case."""

    case_insensitive = True
    non_copyable = frozenset((*CLAUSES, "eq", "gt", "lt", "True", "False", "asc", "desc"))

    domain: Literal["calendar", "document", "email"] = field(default="calendar", metadata={"fixed": True})
    short: bool = field(
        default=True, metadata={"help": "leave out the keywords that follow from the attributes (the paper: false)"}
    )

    @property
    def name(self) -> str:
        return f"okapi-{self.domain}"

    @property
    def summary(self) -> str:  # type: ignore[override]  # a plain attribute elsewhere
        return f"Okapi: requests about {ABOUT[self.domain]} to API calls; more clauses than in training"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"clauses": clause_match, "exact": case_insensitive_match}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        self.check_split(split)
        return self.read(data_folder("okapi", folder) / "okapi" / self.domain / f"{split}.tsv")

    def tokenize(self, sentence: str) -> list[str]:
        return english_tokens(sentence)

    def shorten(self, output: str) -> list[str]:
        pieces = [piece for word in output.split() for piece in cut(word)]
        return or_verbatim(leave_out(pieces, self.domain), pieces) if self.short else pieces

    def restore(self, target: Sequence[str]) -> str:
        verbatim = unmarked(target) if self.short else target
        return join(put_back(target, self.domain) if verbatim is None else verbatim)

    def groups(self, example: Example) -> dict[str, str]:
        return {"clauses": str(len(clauses(example.output)))}


def cut(word: str) -> list[str]:
    """The pieces of a word without blanks; a single piece where cutting it could not be undone."""
    pieces = english_tokens(word)
    outer = pieces[0] in JOINS_BOTH | JOINS_LEFT or pieces[-1] in JOINS_BOTH | JOINS_RIGHT
    if len(pieces) > 1 and not outer and not any(p.startswith(APART) for p in pieces) and join(pieces) == word:
        return pieces
    special = word in JOINS_BOTH | JOINS_LEFT | JOINS_RIGHT or word.startswith(APART)
    return [APART + word] if special else [word]


def join(pieces: Sequence[str]) -> str:
    """The text that the pieces of all its words make up: the inverse of `cut` on each word."""
    text, glued = "", True
    for piece in pieces:
        joins_left = piece in JOINS_BOTH or piece in JOINS_LEFT
        text += ("" if glued or joins_left else " ") + piece.removeprefix(APART)
        glued = piece in JOINS_BOTH or piece in JOINS_RIGHT
    return text


def clauses(output: str) -> list[str]:
    """The clauses of a request, keyword first; what precedes the first keyword counts as one."""
    found = re.split(rf"(?:^|\s)(?=(?:{'|'.join(CLAUSES)})(?:\s|$))", " ".join(output.split()))
    return [clause for clause in found if clause]


def clause_match(predicted: str, gold: str) -> bool:
    """The same clauses in any order, in any case."""
    return {clause.lower() for clause in clauses(predicted)} == {clause.lower() for clause in clauses(gold)}


def case_insensitive_match(predicted: str, gold: str) -> bool:
    """The same text up to case and white space."""
    return predicted.lower().split() == gold.lower().split()
