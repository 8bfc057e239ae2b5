"""How outputs are written as target tokens: as the task writes them, or in a notation learned from training pairs.

`restore(shorten(y)) == y` for every output y, seen or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from permparse.text.notation import (
    Level,
    Notation,
    Pieces,
    Statements,
    find_brackets,
    find_statements,
    from_json,
    learn,
    learn_pieces,
    position_offset,
    to_json,
)
from permparse.text.notation.symbols import VARIABLE

LEVELS = {
    "raw": Level.NOTHING,
    "signs": Level.SIGNS,
    "wordless": Level.WORDLESS,
    "full": Level.FULL,
    "ends": Level.FULL,
    "bold": Level.BOLD,
}
"""How much a learned notation drops, by name; ends: as full, but what ends an argument has a name of its own where the
number of arguments varies."""


REMEMBERED = 100_000
SHOWN = 8
"""Tokens that are named where some of many are."""
ENOUGH = 5_000
"""Outputs that show what its brackets are."""


class Cutter(Protocol):
    """Cuts an output into tokens and joins them again: a task, or `Cut`."""

    def shorten(self, output: str) -> list[str]: ...
    def restore(self, target: Sequence[str]) -> str: ...


@dataclass(frozen=True)
class Cut:
    """Tokens as they are cut from raw text."""

    pieces: Pieces

    def shorten(self, output: str) -> list[str]:
        return self.pieces.cut(output)

    def restore(self, target: Sequence[str]) -> str:
        return self.pieces.join(target)


@dataclass(frozen=True)
class Writing:
    """Cuts an output, gathers its statements, then drops what is implied. ``first_position`` is the number of the first
    word where numbers of outputs name positions of the input, None where they do not."""

    cutter: Cutter
    notation: Notation = field(default_factory=Notation)
    first_position: int | None = None
    statements: Statements | None = None

    @classmethod
    def learn(cls, level: str, task: Cutter, raw: bool, pairs: Sequence[tuple[Sequence[str], str]]) -> Writing:
        """From training pairs of input tokens and outputs; ``raw`` outputs are cut by learned rules, others by the
        task."""
        cutter: Cutter = Cut(learn_pieces(pairs)) if raw else task
        written = [(tuple(source), tuple(cutter.shorten(output))) for source, output in pairs]
        first_position, statements = position_offset(written), None
        if first_position is not None and LEVELS[level] is not Level.NOTHING:
            outputs = [output for _, output in written]
            statements = find_statements(outputs, find_brackets(outputs[:ENOUGH]))
        if statements is not None:
            written = [(source, tuple(statements.gathered(output))) for source, output in written]
        tags = cutter.pieces.spellings.between if isinstance(cutter, Cut) else frozenset[str]()
        notation = learn(written, LEVELS[level], name_ends=level == "ends", tags=tags)
        return cls(cutter, notation, first_position, statements)

    def cut(self, output: str) -> list[str]:
        """All tokens of an output, its statements gathered."""
        tokens = self.cutter.shorten(output)
        return tokens if self.statements is None else self.statements.gathered(tokens)

    def shorten(self, output: str) -> list[str]:
        """The target tokens of an output."""
        return [self._renumbered(token, -1) for _, token in self._kept(output)]

    def heads(self, output: str) -> list[int | None]:
        """For each target token that is a key, as `agent` in `see(agent = …)`, the index of the one in front of its
        bracket; None for all others."""
        return self.notation.heads(self.cut(output), [at for at, _ in self._kept(output)])

    def _kept(self, output: str) -> list[tuple[int, str]]:
        """What the notation keeps of an output, remembered: training asks for it again and again."""
        found = self._remembered.get(output)
        if found is None:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            found = self._remembered[output] = self.notation.kept(self.cut(output))
        return found

    @cached_property
    def _remembered(self) -> dict[str, list[tuple[int, str]]]:
        return {}

    def restore(self, target: Sequence[str]) -> str:
        """The output that target tokens stand for; of any sequence, without an exception."""
        tokens = self.notation.restore([self._renumbered(token, 1) for token in target])
        return self.cutter.restore(tokens if self.statements is None else self.statements.scattered(tokens))

    def exceptional(self, outputs: Sequence[str]) -> float:
        """Share of the outputs that the rules alone do not restore."""
        short = [[token for _, token in self._kept(output)] for output in outputs]
        return sum(map(self.notation.has_exception, short)) / max(1, len(short))

    def facts(self) -> list[str]:
        """What was found in the training outputs, in words."""
        language, found = self.notation.language, []
        dropped = sorted({language.symbols.alike(token) for token in language.dropped}, key=lambda t: (len(t), t))
        dropped = ["variables" if token == VARIABLE else token for token in dropped]
        if dropped:
            found.append(f"outputs written without {' '.join(dropped[:SHOWN])}{' …' * (len(dropped) > SHOWN)}")
        cut = self.cutter.pieces.spellings.between if isinstance(self.cutter, Cut) else frozenset[str]()
        if cut:
            found.append(f"values cut at {' '.join(sorted(cut)[:SHOWN])}")
        if self.first_position is not None:
            found.append("numbers name positions")
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a checkpoint; a task's own cutter is not part of it."""
        pieces = self.cutter.pieces.to_json() if isinstance(self.cutter, Cut) else None
        return {
            "pieces": pieces,
            "first_position": self.first_position,
            "statements": None if self.statements is None else self.statements.to_json(),
            "notation": to_json(self.notation),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], task: Cutter) -> Writing:
        """The inverse of `to_json`."""
        cutter = task if data["pieces"] is None else Cut(Pieces.from_json(data["pieces"]))
        found = data.get("statements")
        statements = None if found is None else Statements.from_json(found)
        return cls(cutter, from_json(data["notation"]), data["first_position"], statements)

    def _renumbered(self, token: str, sign: int) -> str:
        """A number that names a position, counted from 0 in targets; what is none today is kept apart by a zero."""
        if not self.first_position or not (token.isascii() and token.isdigit()):
            return token
        if sign < 0:
            return str(int(token) - self.first_position) if _plain(token) and token != "0" else f"0{token}"
        return str(int(token) + self.first_position) if _plain(token) else token[1:]


def _plain(number: str) -> bool:
    return number == "0" or number[0] != "0"
