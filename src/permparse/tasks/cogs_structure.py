"""Structures of COGS that a selection can hold out of the training data, because the development set is solved.

Depth two of prepositional phrases and of that-clauses, phrases between a theme and its recipient (gave a cake on a
table to Al), and names as recipients right behind the verb (gave Al a cake): small cousins of what the generalisation
set asks for, taken from the training data alone.
"""

from collections.abc import Sequence
from typing import Literal

from permparse.text import is_variable

Structure = Literal["nested PP", "nested CP", "PP before to", "name behind verb"]


def structure(source: Sequence[str], target: Sequence[str]) -> Structure | None:
    """The structure to hold out that an example shows, if any."""
    phrases, clauses = edges(target, ".nmod"), edges(target, ".ccomp")
    if depth(clauses) > 1:
        return "nested CP"
    if depth(phrases) > 1:
        return "nested PP"
    if any(noun + 1 < len(source) and source[noun + 1] == "to" for _, noun in phrases):
        return "PP before to"
    if any(_behind_verb(source, name) for name in arguments(target, ".recipient")):
        return "name behind verb"
    return None


def edges(target: Sequence[str], relation: str) -> list[tuple[int, int]]:
    """The pairs of variables in a relation: cake .nmod .on 1 4 has (1, 4)."""
    found = []
    for position, token in enumerate(target):
        if token == relation:
            arguments = [t for t in target[position + 1 : position + 4] if not t.startswith(".")][:2]
            if len(arguments) == 2 and all(map(is_variable, arguments)):
                found.append((int(arguments[0]), int(arguments[1])))
    return found


def arguments(target: Sequence[str], role: str) -> list[str]:
    """What fills a role: give .recipient 1 Al has Al."""
    return [target[i + 2] for i, token in enumerate(target[:-2]) if token == role]


def _behind_verb(source: Sequence[str], name: str) -> bool:
    place = source.index(name) if name in source else 0
    return place > 0 and source[place - 1] not in ("to", "by", "that")


def depth(pairs: Sequence[tuple[int, int]]) -> int:
    """The length of the longest chain; the second of a pair stands to the right of the first."""
    longest: dict[int, int] = {}
    for first, second in sorted(pairs):
        longest[second] = max(longest.get(second, 0), longest.get(first, 0) + 1)
    return max(longest.values(), default=0)
