"""Word vectors from a text file, one word and its numbers a line, as GloVe, word2vec and fastText write them.

Only the vectors of the words asked for are kept; everything that can be wrong is reported with file and line.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from permparse.base.errors import UserError

LARGEST = 1e30


def read_vectors(
    path: Path | str, words: Iterable[str], size: int, fold: Callable[[str], str] = str
) -> dict[str, np.ndarray]:
    """The vectors, float32 [size] each, of those `words` that the file has.

    A line stands for `fold` of its word, so that a lower-case vocabulary finds "Monday" as "monday"; a line that
    needs no folding comes first, then the earlier one. A first line of two whole numbers is a header.
    """
    path, wanted = Path(path).expanduser(), frozenset(words)
    found: dict[str, np.ndarray] = {}
    exact: set[str] = set()
    for number, line in _vector_lines(path, size):
        written = _decoded(line[: line.index(b" ")], path, number)
        word = fold(written)
        if word in wanted and word not in exact and (word == written or word not in found):
            found[word] = _numbers(line, path, number)
            if word == written:
                exact.add(word)
    if wanted and not found:
        raise UserError(
            f"{path}: has a vector for none of the {len(wanted):,} words of the vocabulary; "
            "is it of the right language, and in the same case (data.lowercase)?"
        )
    return found


def _vector_lines(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Number and content of the lines with a word and `size` numbers; those of words with blanks are left out."""
    empty = True
    for number, line in _lines(path):
        count = line.count(b" ")
        if number == 1 and _is_header(line):
            _require_size(path, number, int(line.split()[1]), size)
            continue
        empty = False
        if count > size and number > 1 and not _all_numbers(line.split()[1:]):
            continue  # GloVe's "at name@domain.com", which no tokenizer gives as one word
        _require_size(path, number, count, size)
        yield number, line
    if empty:
        raise UserError(f"{path}: is empty; expected a word and {size} numbers in each line")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of the file, without blanks at their end, numbered from 1."""
    try:
        with path.open("rb") as file:
            first = file.readline().removeprefix(b"\xef\xbb\xbf")
            if b"\0" in first:
                raise UserError(f"{path}: is not text; expected a word and its numbers in each line, uncompressed")
            for number, line in enumerate(chain([first] if first else [], file), 1):
                yield number, line.rstrip()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of word vectors (relative to {Path.cwd()})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read as a file of word vectors ({error.strerror})") from None


def _require_size(path: Path, number: int, found: int, size: int) -> None:
    if found == size:
        return
    remedy = f"set embedding_size = {found}, or take another file" if number == 1 and found else "mend the line"
    raise UserError(
        f"{path}:{number}: expected a word and {size} numbers (embedding_size) between single blanks, "
        f"got {found}; {remedy}"
    )


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
