"""Sentences from bytes, line by line, as they come; a line that is none says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from permparse.base.errors import UserError

BATCH = 128
"""Lines that are answered together while someone waits for them."""
CHUNK, LONGEST_LINE = 1 << 16, 1 << 20
"""Bytes that are read at a time, and that a line may have."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Line = str | UserError
"""A sentence, or why a line is none."""


def batches(chunks: Iterable[bytes], first: bool = True, most: int = BATCH) -> Iterator[list[Line]]:
    """Lines as they arrive: a single one immediately, a batch of at most so many if many are waiting.

    A line that is too long is an error of its own, and never held in memory. ``first``: the chunks begin a file, where
    a byte-order mark is no part of the text.
    """
    rest, skipping = b"", False
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if skipping and lines:
            lines, skipping = lines[1:], False
        elif skipping:
            rest = b""
        batch = _decoded(lines, first)
        first = first and not lines and not skipping
        if len(rest) > LONGEST_LINE:
            batch.append(UserError(f"the line is longer than {LONGEST_LINE:,} bytes; expected one sentence per line"))
            rest, skipping = b"", True
        for start in range(0, len(batch), most):
            yield batch[start : start + most]
    if rest and not skipping:
        yield _decoded([rest], first)


def chunks_of(file: BinaryIO, count: int) -> Iterator[bytes]:
    """The next ``count`` bytes of a file, or as many as it has."""
    while count > 0 and (chunk := file.read(min(CHUNK, count))):
        count -= len(chunk)
        yield chunk


def _decoded(lines: Iterable[bytes], first: bool) -> list[Line]:
    decoded: list[Line] = []
    for number, line in enumerate(lines):
        try:
            text = line.removeprefix(BYTE_ORDER_MARK) if first and number == 0 else line
            decoded.append(text.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} is 0x{line[error.start]:02x}"
            decoded.append(UserError(f"not UTF-8 text ({byte}); convert it first"))
    return decoded
