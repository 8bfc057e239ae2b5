"""Word vectors: the same from every format, found whatever the case, and every mistake named with its place."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from permparse.base.errors import UserError
from permparse.text import Vectors, read_vectors, vector_size

GLOVE = "the 0.25 -1 2e-1\nMonday 1 2 3\n. . 4 5 6\nto 0 0 1\n"
WORDS, MATRIX = ("the", "Monday", "café"), np.arange(6, dtype=np.float32).reshape(3, 2)


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_dict(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.matrix.tolist(), strict=True))


@pytest.mark.parametrize("frame", ["{}", "\ufeff{}", "4 3\n{}", "{}\n"], ids=["plain", "mark", "header", "newline"])
def test_all_words_are_found_but_those_with_blanks(tmp_path, frame):
    path = written(tmp_path, frame.format(GLOVE.strip()))
    assert as_dict(read_vectors(path)) == {
        "the": pytest.approx([0.25, -1, 0.2]),
        "Monday": [1, 2, 3],
        "to": [0, 0, 1],
    }
    assert vector_size(path) == 3


@pytest.mark.parametrize("ending", [" \n", "\r\n", "\n"])
def test_blanks_at_the_end_of_a_line_do_not_count(tmp_path, ending):
    vectors = read_vectors(written(tmp_path, f"2 2{ending}a 1 2{ending}é 3 4{ending}"))
    assert as_dict(vectors) == {"a": [1, 2], "é": [3, 4]}


def _npy(folder: Path) -> Path:
    np.lib.format.open_memmap(folder / "v.npy", "w+", np.float64, MATRIX.shape)[:] = MATRIX
    (folder / "v.words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return folder / "v.npy"


def _npz(folder: Path) -> Path:
    np.savez(folder / "v.npz", vectors=MATRIX, words=np.array(WORDS))
    return folder / "v.npz"


def _safetensors(folder: Path) -> Path:
    save_file(
        {"vectors": MATRIX, "words": np.frombuffer("\n".join(WORDS).encode(), np.uint8)}, folder / "v.safetensors"
    )
    return folder / "v.safetensors"


def _safetensors_and_words(folder: Path) -> Path:
    save_file({"vectors": MATRIX}, folder / "v.safetensors")
    (folder / "v.words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return folder / "v.safetensors"


@pytest.mark.parametrize("write", [_npy, _npz, _safetensors, _safetensors_and_words])
def test_every_format_of_arrays_gives_the_same(tmp_path, write):
    path = write(tmp_path)
    vectors = read_vectors(path)
    assert vectors.matrix.dtype == np.float32
    assert as_dict(vectors) == {"the": [0, 1], "Monday": [2, 3], "café": [4, 5]}
    assert vector_size(path) == 2
    assert as_dict(Vectors.from_bytes(vectors.to_bytes())) == as_dict(vectors)


def test_folding_prefers_the_word_as_it_is_and_then_the_first(tmp_path):
    vectors = read_vectors(written(tmp_path, "May 1\nmay 2\nMAY 3\nRome 5\nROME 6\n"))
    assert as_dict(vectors.folded(str.lower)) == {"may": [2], "rome": [5]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("to 1 2 3\nthe 1 2\n", r"vectors\.txt:2: expected a word and 3 numbers, .*, got 2; mend"),
        ("9 3\nthe 1 2\n", r"vectors\.txt:2: expected a word and 3 numbers, .*, got 2; mend"),
        ("to 1 2 3\nthe 1 2 3 4\n", r"vectors\.txt:2: expected a word and 3 numbers, .*, got 4; mend"),
        ("to 1 2 3\n\nthe 1 2 3\n", r"vectors\.txt:2: expected a word and 3 numbers, .*, got 0; mend"),
        ("to 1 2 3\nthe 1  2 3\n", r"vectors\.txt:2: expected .* between single blanks, got 4"),
        ("to\t1\t2\t3\n", r"vectors\.txt:1: .* got none; mend"),
        ("to 1 2 3\nthe 1 x 3\n", r"vectors\.txt:2: expected a number, got 'x'"),
        ("the 1 nan 3\n", r"vectors\.txt:1: expected finite numbers"),
        ("the 1 1e60 3\n", r"vectors\.txt:1: expected finite numbers"),
        ("to 1 2 3\ncaf\xe9 1 2 3\n".encode("latin1"), r"vectors\.txt:2: byte 0xe9 is not UTF-8"),
        ("the 1 2 3\n".encode("utf-16"), r"vectors\.txt: is not text"),
        (b"\x1f\x8b\x08\x00\x00", r"vectors\.txt: is not text"),
        ("", r"vectors\.txt: is empty"),
        ("3 3\n", r"vectors\.txt: is empty"),
    ],
)
def test_a_mistake_in_text_names_file_line_and_remedy(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        read_vectors(written(tmp_path, content))


def test_a_mistake_in_arrays_is_said_in_words(tmp_path):
    path = _npy(tmp_path)
    (tmp_path / "v.words.txt").write_text("the\n")
    with pytest.raises(UserError, match=r"got 1 words and an array of shape \[3, 2\]"):
        read_vectors(path)
    (tmp_path / "v.words.txt").unlink()
    with pytest.raises(UserError, match=r"expected its words in v\.words\.txt beside it"):
        read_vectors(path)
    np.savez(tmp_path / "other.npz", embeddings=MATRIX)
    with pytest.raises(UserError, match="expected an array 'vectors', found embeddings"):
        read_vectors(tmp_path / "other.npz")
    np.savez(tmp_path / "nan.npz", vectors=MATRIX * np.nan, words=np.array(WORDS))
    with pytest.raises(UserError, match=r"expected finite numbers, .* for 'the'"):
        read_vectors(tmp_path / "nan.npz")
    for suffix in (".npy", ".npz", ".safetensors"):
        broken = tmp_path / f"broken{suffix}"
        broken.write_bytes(b"no array at all, but long enough to be read as one")
        with pytest.raises(UserError, match=rf"broken\{suffix}: cannot be read as \{suffix}"):
            read_vectors(broken)
        assert vector_size(broken) == 0


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UserError, match="no such file of word vectors"):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(UserError, match="cannot be read as a file of word vectors"):
        read_vectors(tmp_path)
