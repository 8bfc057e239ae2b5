"""Tab-separated files: input, output and, in a third column, a category.

Every problem in such a file is reported with file, line and remedy.
"""

import unicodedata
from pathlib import Path
from typing import NamedTuple

from permparse.base.errors import UserError
from permparse.base.reading import read_regular

FIELDS = ("input", "output", "category")
LARGEST = 4 << 30
"""Bytes of a file at most."""


class Row(NamedTuple):
    """One line of a file; white space around the fields is gone, runs of it inside are kept."""

    input: str
    output: str
    category: str | None
    line: int


def clean_sentence(text: str, where: str = "the sentence") -> str:
    """The text with each run of white space made one blank; refuses an empty text and control characters."""
    _refuse_control_characters(text.replace("\t", " ").replace("\n", " ").replace("\r", " "), where)
    cleaned = " ".join(text.split())
    if not cleaned:
        raise UserError(f"{where} is empty: expected at least one word")
    return cleaned


def read_tsv(path: Path | str) -> list[Row]:
    """All lines of a UTF-8 file with two or three columns, the same number in every line."""
    path = Path(path)
    lines = _read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise UserError(f"{path} is empty: expected lines of the form input<TAB>output[<TAB>category]")
    columns = lines[0].count("\t") + 1
    return [_row(path, number, line.removesuffix("\r"), columns) for number, line in enumerate(lines, 1)]


def _row(path: Path, number: int, line: str, columns: int) -> Row:
    where = f"{path}:{number}"
    if not line.strip():
        raise UserError(f"{where}: the line is empty; remove it")
    fields = line.split("\t")
    if len(fields) not in (2, 3):
        raise UserError(
            f"{where}: expected 2 or 3 columns between tabs (input, output[, category]), got {len(fields)}; "
            + ("put one tab between input and output" if len(fields) < 2 else "remove the surplus tabs")
        )
    if len(fields) != columns:
        raise UserError(
            f"{where}: expected {columns} columns as in line 1, got {len(fields)}; "
            "give every line the same number of columns"
        )
    for name, field in zip(FIELDS, fields, strict=False):
        _refuse_control_characters(field, f"{where}: the {name}")
        if not field.strip():
            raise UserError(f"{where}: the {name} is empty; fill it in or remove the line")
    return Row(fields[0].strip(), fields[1].strip(), fields[2].strip() if columns == 3 else None, number)


def _read_text(path: Path) -> str:
    """The file as text without a byte-order mark; UserError if it cannot be read or is not UTF-8."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: expected a tab-separated file; name a file inside it")
    try:
        raw = read_regular(path, LARGEST).data
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: check the path (relative to {Path.cwd()})") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}:{line}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8 "
            f"(for example: iconv -f latin1 -t utf-8)"
        ) from None


def _refuse_control_characters(text: str, where: str) -> None:
    if text.isprintable():
        return
    for column, character in enumerate(text, 1):
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise UserError(f"{where} has the control character U+{ord(character):04X} at position {column}; remove it")
