"""Okapi requests without what is implied: FILTER event.start gt today ↦ event.start gt today, eq left out.

A keyword that every clause has belongs to no word, so that its number would have to be guessed from the whole
sentence; an attribute has a word. What is left out follows from the attributes.
"""

import re
from collections.abc import Sequence

DEFAULT_ENTITY = {"calendar": "event", "document": "drive.root.children", "email": "message"}
"""What GET asks for unless another entity is named."""
ENTITIES = frozenset((*DEFAULT_ENTITY.values(), "drive.sharedwithme", "drive.recent"))
ATTRIBUTE = re.compile(r"(event|file|message)\.[a-z]+", re.IGNORECASE)
DIRECTIONS = frozenset(("asc", "desc"))
COMPARISONS = frozenset(("eq", "gt", "lt"))
IMPLIED_COMPARISON = "eq"


def leave_out(pieces: Sequence[str], domain: str) -> list[str] | None:
    """The pieces of a request without what `put_back` knows; None if it would not come back as it was."""
    short = [piece for piece in pieces if piece not in ("GET", "FILTER", "ORDERBY", IMPLIED_COMPARISON)]
    if short[:1] == [DEFAULT_ENTITY[domain]]:
        del short[0]
    return short if put_back(short, domain) == list(pieces) else None


def put_back(short: Sequence[str], domain: str) -> list[str]:
    """The whole request: GET and its entity in front, the keyword and the comparison around an attribute."""
    entity, rest = DEFAULT_ENTITY[domain], list(short)
    if rest and rest[0].lower() in ENTITIES:
        entity = rest.pop(0)
    pieces = ["GET", entity]
    for piece, following in zip(rest, [*rest, ""][1:], strict=True):
        if not ATTRIBUTE.fullmatch(piece):
            pieces.append(piece)
        elif following in DIRECTIONS:
            pieces += ["ORDERBY", piece]
        else:
            pieces += ["FILTER", piece, *([] if following in COMPARISONS else [IMPLIED_COMPARISON])]
    return pieces
