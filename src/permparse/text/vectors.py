"""Word vectors from a file: text, or arrays as `.npy`, `.npz` or `.safetensors`.

The array ``vectors`` [n, e] is the only one in .npy. The words are in the array ``words``: strings in .npz, in
.safetensors the bytes (uint8) of UTF-8 text, one per line; or else in a file next to it: glove.npy, glove.words.txt.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as arrays_from_bytes
from safetensors.numpy import save as arrays_to_bytes

from permparse.base.errors import UserError
from permparse.text.vector_lines import LARGEST, line_size, read_lines

VECTORS, WORDS = "vectors", "words"
ARRAYS = (".npy", ".npz", ".safetensors")


@dataclass(frozen=True)
class Vectors:
    """A vector for every one of some words: row i of ``matrix``, float32 [n, e], belongs to ``words[i]``."""

    words: tuple[str, ...]
    matrix: np.ndarray

    @property
    def size(self) -> int:
        return int(self.matrix.shape[1])

    def folded(self, fold: Callable[[str], str]) -> Vectors:
        """The vectors of `fold` of each word, so that a lower-case vocabulary finds "Monday" as "monday".

        A word that needs no folding comes first, then the earlier one.
        """
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            key = fold(word)
            known = rows.setdefault(key, row)
            if key == word and self.words[known] != word:
                rows[key] = row
        return Vectors(tuple(rows), self.matrix[list(rows.values())])

    def restricted(self, wanted: Callable[[str], bool]) -> Vectors:
        """The vectors of some of the words."""
        rows = [row for row, word in enumerate(self.words) if wanted(word)]
        return Vectors(tuple(self.words[row] for row in rows), self.matrix[rows])

    def to_bytes(self) -> bytes:
        """As a .safetensors file."""
        text = np.frombuffer("\n".join(self.words).encode(), dtype=np.uint8)
        return arrays_to_bytes({VECTORS: np.ascontiguousarray(self.matrix), WORDS: text.copy()})

    @classmethod
    def from_bytes(cls, content: bytes) -> Vectors:
        """The inverse of `to_bytes`."""
        arrays = arrays_from_bytes(content)
        return cls(tuple(_text_words(arrays[WORDS])), arrays[VECTORS])


def read_vectors(path: Path) -> Vectors:
    """The vectors of a file; a UserError says what is wrong with it, and where."""
    try:
        words, matrix = _read(path)
    except FileNotFoundError as error:
        raise UserError(f"{error.filename}: no such file of word vectors (relative to {Path.cwd()})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read as a file of word vectors ({error.strerror or error})") from None
    except (ValueError, zipfile.BadZipFile, SafetensorError) as error:
        raise UserError(f"{path}: cannot be read as {path.suffix} ({error})") from None
    if matrix.ndim != 2 or len(matrix) != len(words) or not len(words):
        raise UserError(
            f"{path}: expected a vector for each word, as an array of shape [words, size], "
            f"got {len(words):,} words and an array of shape {list(matrix.shape)}"
        )
    wrong = np.flatnonzero(~(np.abs(matrix) < LARGEST).all(1))  # true for NaN, too
    if len(wrong):
        raise UserError(f"{path}: expected finite numbers, got NaN or one beyond ±{LARGEST:g} for {words[wrong[0]]!r}")
    return Vectors(tuple(words), np.ascontiguousarray(matrix, dtype=np.float32))


def _read(path: Path) -> tuple[Sequence[str], np.ndarray]:
    if path.suffix not in ARRAYS:
        return read_lines(path)
    arrays = _arrays(path)
    if VECTORS not in arrays:
        found = ", ".join(sorted(arrays)) or "none"
        raise UserError(f"{path}: expected an array {VECTORS!r}, found {found}")
    if WORDS not in arrays:
        return _words_beside(path), arrays[VECTORS]
    words = arrays[WORDS]
    return [str(word) for word in words] if words.dtype.kind == "U" else _text_words(words), arrays[VECTORS]


def _arrays(path: Path) -> Mapping[str, np.ndarray]:
    if path.suffix == ".safetensors":
        return arrays_from_bytes(path.read_bytes())
    if path.suffix == ".npy":
        with path.open("rb") as file:
            return {VECTORS: np.lib.format.read_array(file, allow_pickle=False)}
    with zipfile.ZipFile(path) as archive:
        arrays = {}
        for name in archive.namelist():
            with archive.open(name) as file:
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(file, allow_pickle=False)
        return arrays


def _words_beside(path: Path) -> list[str]:
    beside = path.with_name(f"{path.stem}.words.txt")
    if not beside.is_file():
        raise UserError(f"{path}: expected its words in {beside.name} beside it, one per line; there is no such file")
    return beside.read_text(encoding="utf-8").rstrip("\n").split("\n")


def _text_words(content: np.ndarray) -> list[str]:
    return content.astype(np.uint8).tobytes().decode("utf-8").rstrip("\n").split("\n")


def vector_size(path: Path) -> int:
    """e, reading no more of the file than that takes; 0 if it cannot be read, which `read_vectors` explains."""
    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "numpy") as file:
                return int(file.get_slice(VECTORS).get_shape()[-1])
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive, archive.open(f"{VECTORS}.npy") as member:
                return _npy_size(member)
        if path.suffix == ".npy":
            with path.open("rb") as file:
                return _npy_size(file)
        return line_size(path)
    except (OSError, ValueError, KeyError, IndexError, zipfile.BadZipFile, SafetensorError):
        return 0


def _npy_size(file: IO[bytes]) -> int:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return int(read(file)[0][-1])
