"""A file cut into shards of equally many lines, each with a place for its answers.

Both are on disk, so that after a kill work goes on with the shards that have no answers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from permparse.base.errors import UserError
from permparse.base.reading import table_in
from permparse.base.storage import PART, write_atomically

PLAN, ANSWERS, ERRORS = "plan.json", ".answers", ".errors"
BLOCK = 1 << 24
NEWLINE = 10


@dataclass(frozen=True)
class Shard:
    """Some lines of a file: bytes from ``begin`` to ``end``, of which the first is in line ``line`` (from 1 on)."""

    number: int
    begin: int
    end: int
    line: int


class Shards:
    """The shards of ``source`` and the folder of their answers, which must be of the same ``question``.

    ``question`` is all that decides the answers: the file, the parser, how answers are written.
    """

    def __init__(self, folder: Path, source: Path, lines: int, question: dict[str, Any]) -> None:
        self.folder = folder
        path = folder / PLAN
        plan = _plan(path) if path.is_file() else None
        begun = plan is not None and any(path.suffix in (ANSWERS, ERRORS) for path in folder.iterdir())
        if plan is not None and plan["question"] != question and begun:
            changed = next(key for key, value in question.items() if plan["question"].get(key) != value)
            raise UserError(
                f"{folder}: holds answers to another question ({changed} has changed); remove it to begin again"
            )
        if plan is not None and plan["question"] == question:
            self.all = [Shard(**shard) for shard in plan["shards"]]
        else:
            with open(source, "rb") as file:
                self.all = list(cut(file, lines))
            plan = {"question": question, "shards": [asdict(shard) for shard in self.all]}
            write_atomically(path, json.dumps(plan).encode())

    def answers(self, shard: Shard) -> Path:
        """The file of its answers; it exists if the shard is done."""
        return self.folder / f"{shard.number:07}{ANSWERS}"

    def errors(self, shard: Shard) -> Path:
        """The file that says which of its lines could not be parsed, written before the answers."""
        return self.folder / f"{shard.number:07}{ERRORS}"

    def left(self) -> list[Shard]:
        """The shards without answers."""
        return [shard for shard in self.all if not self.answers(shard).is_file()]

    def join(self, output: Path, errors: Path) -> int:
        """Write the answers of all shards, in order, to one file, what is wrong with lines to another if there are any,
        and forget the shards; the number of such lines."""
        _joined([path for shard in self.all if (path := self.errors(shard)).is_file()], errors, self.folder)
        _joined([self.answers(shard) for shard in self.all], output, self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        with open(errors, "rb") as file:
            count = sum(1 for _ in file)
        if not count:
            errors.unlink()
        return count


def _plan(path: Path) -> dict[str, Any]:
    """What was to be done in the folder of this file."""
    plan = table_in(path)
    try:
        return {"question": dict(plan["question"]), "shards": [asdict(Shard(**shard)) for shard in plan["shards"]]}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: damaged; remove the folder to begin again") from error


def _joined(parts: Sequence[Path], output: Path, folder: Path) -> None:
    unfinished = output.with_name(f"{output.name}{PART}")
    try:
        with open(unfinished, "wb") as whole:
            for part in parts:
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, whole, BLOCK)
        unfinished.replace(output)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(
            f"{output}: cannot be written ({error.strerror}); the answers are safe in {folder}: "
            "make room, and the same command goes on"
        ) from error


def cut(file: BinaryIO, lines: int) -> Iterator[Shard]:
    """Shards of so many lines each; the last may have fewer."""
    number = begin = seen = position = 0
    while block := file.read(BLOCK):
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == NEWLINE)
        for end in ends[lines - 1 - seen % lines :: lines] + position + 1:
            yield Shard(number, begin, int(end), number * lines + 1)
            number, begin = number + 1, int(end)
        seen += len(ends)
        position += len(block)
    if begin < position:
        yield Shard(number, begin, position, number * lines + 1)
