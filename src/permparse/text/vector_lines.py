"""Word vectors as text, one word and its numbers per line, as GloVe, word2vec and fastText write them.

Every problem is reported with file and line.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from permparse.base.errors import UserError

LARGEST = 1e30


def read_lines(path: Path) -> tuple[list[str], np.ndarray]:
    """The words of a file and their vectors, float32 [n, e]; a first line of two whole numbers is a header."""
    size = line_size(path)
    words, rows = [], []
    for number, line in _vector_lines(path, size):
        words.append(_decoded(line[: line.index(b" ")], path, number))
        rows.append(_numbers(line, path, number))
    return words, np.stack(rows)


def line_size(path: Path) -> int:
    """e, by the first line."""
    number, line = next(_lines(path), (0, b""))
    size = int(line.split()[1]) if _is_header(line) else line.count(b" ")
    if number and not size:
        raise UserError(f"{path}:1: expected a word and its numbers between single blanks, got none; mend the line")
    return size


def _vector_lines(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Number and content of the lines with a word and `size` numbers; those of words with blanks are left out."""
    empty = True
    for number, line in _lines(path):
        if number == 1 and _is_header(line):
            continue
        empty, count = False, line.count(b" ")
        if count > size and number > 1 and not _all_numbers(line.split()[1:]):
            continue  # GloVe's "at name@domain.com", which no tokenizer gives as one word
        if count != size:
            raise UserError(
                f"{path}:{number}: expected a word and {size} numbers, as in the first line, between single blanks, "
                f"got {count}; mend the line"
            )
        yield number, line
    if empty:
        raise UserError(f"{path}: is empty; expected a word and its numbers in each line")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of the file, without blanks at their end, numbered from 1."""
    with path.open("rb") as file:
        first = file.readline().removeprefix(b"\xef\xbb\xbf")
        if b"\0" in first:
            raise UserError(f"{path}: is not text; expected a word and its numbers in each line, uncompressed")
        for number, line in enumerate(chain([first] if first else [], file), 1):
            yield number, line.rstrip()


def _is_header(line: bytes) -> bool:
    fields = line.split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _all_numbers(fields: list[bytes]) -> bool:
    try:
        np.array(fields).astype(np.float64)
    except ValueError:
        return False
    return True


def _numbers(line: bytes, path: Path, number: int) -> np.ndarray:
    fields = line.split(b" ")[1:]
    try:
        vector = np.array(fields).astype(np.float64)
    except ValueError:
        wrong = next(field for field in fields if not _all_numbers([field]))
        shown = wrong.decode("utf-8", "backslashreplace")
        raise UserError(f"{path}:{number}: expected a number, got {shown!r}; mend the line") from None
    if not (np.abs(vector) < LARGEST).all():  # false for NaN, too
        raise UserError(f"{path}:{number}: expected finite numbers, got NaN or one beyond ±{LARGEST:g}; mend the line")
    return vector.astype(np.float32)


def _decoded(word: bytes, path: Path, number: int) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: byte 0x{word[error.start]:02x} is not UTF-8; save the file as UTF-8 "
            "(for example: iconv -f latin1 -t utf-8)"
        ) from None
