"""Files from outside, read without trust: regular files only, of limited size, and JSON that says one thing.

Whatever is wrong becomes a UserError; nothing here waits, follows a device or asks for memory without bounds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from permparse.base.errors import UserError

JSON_LIMIT = 128 << 20
"""Bytes of a JSON document at most."""


class Content(NamedTuple):
    """The bytes of a file, and which file on the disk they were read from."""

    data: bytes
    identity: tuple[int, int, int]


def read_regular(path: Path, limit: int) -> Content:
    """All bytes of a regular file (or of one that a link leads to), at most ``limit``.

    OSError if it cannot be read; UserError if it is a FIFO, a device, a folder or too large.
    """
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{path}: expected a regular file, found {_kind(status.st_mode)}")
        data = file.read(limit + 1) if status.st_size <= limit else b""
        if status.st_size > limit or len(data) > limit:
            raise UserError(f"{path}: expected at most {limit:,} bytes, found {max(status.st_size, len(data)):,}")
        return Content(data, (status.st_dev, status.st_ino, status.st_mtime_ns))


def read_json(content: bytes, where: str) -> Any:
    """A JSON document; UserError if it is none, too large or nested too deeply, has a key twice or a number that is not
    finite."""
    if len(content) > JSON_LIMIT:
        raise UserError(f"{where}: expected at most {JSON_LIMIT:,} bytes of JSON, found {len(content):,}")
    try:
        text = content.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise UserError(f"{where}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"{where}: not valid JSON ({_shortened(str(error))})") from error


def text_in(path: Path, limit: int = JSON_LIMIT) -> str:
    """The text of a regular file; UserError if it cannot be read."""
    try:
        return read_regular(path, limit).data.decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({_shortened(str(error))})") from error


def json_in(path: Path) -> Any:
    """The JSON document in a regular file; UserError if it cannot be read or is none."""
    return read_json(text_in(path).encode(), str(path))


def table_in(path: Path) -> dict[str, Any]:
    """The JSON object in a regular file; UserError if it cannot be read or is none."""
    found = json_in(path)
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected a JSON object")
    return found


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read block by block; OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return table


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {number}")
    return value


def _kind(mode: int) -> str:
    kinds = {stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a FIFO", stat.S_ISSOCK: "a socket"}
    return next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device")


def _shortened(text: str, length: int = 200) -> str:
    return text if len(text) <= length else f"{text[:length]} …"
