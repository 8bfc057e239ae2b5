"""Word vectors: found whatever the case, and every mistake in the file named with its line."""

from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.text import read_vectors

GLOVE = "the 0.25 -1 2e-1\nMonday 1 2 3\n. . 4 5 6\nto 0 0 1\n"


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("frame", ["{}", "\ufeff{}", "4 3\n{}", "{}\n"], ids=["plain", "mark", "header", "newline"])
def test_the_words_asked_for_are_found(tmp_path, frame):
    vectors = read_vectors(written(tmp_path, frame.format(GLOVE.strip())), ["to", "the", "cat", "monday", "."], 3)
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "the": pytest.approx([0.25, -1, 0.2]),
        "to": [0, 0, 1],
    }


@pytest.mark.parametrize("ending", [" \n", "\r\n", "\n"])
def test_blanks_at_the_end_of_a_line_do_not_count(tmp_path, ending):
    vectors = read_vectors(written(tmp_path, f"2 2{ending}a 1 2{ending}é 3 4{ending}"), ["a", "é"], 2)
    assert [vectors[word].tolist() for word in "aé"] == [[1, 2], [3, 4]]


def test_a_folded_vocabulary_prefers_the_word_as_it_is_and_then_the_first(tmp_path):
    path = written(tmp_path, "May 1\nmay 2\nMAY 3\nmay 4\nRome 5\nROME 6\n")
    vectors = read_vectors(path, ["may", "rome"], 1, str.lower)
    assert {word: float(vector[0]) for word, vector in vectors.items()} == {"may": 2, "rome": 5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1 2\n", r"vectors\.txt:1: expected a word and 3 numbers .*, got 2; set embedding_size = 2"),
        ("the 1 2 3 4\n", r"vectors\.txt:1: expected a word and 3 numbers .*, got 4; set embedding_size = 4"),
        ("9 50\nthe 1 2 3\n", r"vectors\.txt:1: expected a word and 3 numbers .*, got 50; set embedding_size = 50"),
        ("to 1 2 3\nthe 1 2\n", r"vectors\.txt:2: expected a word and 3 numbers .*, got 2; mend"),
        ("to 1 2 3\nthe 1 2 3 4\n", r"vectors\.txt:2: expected a word and 3 numbers .*, got 4; mend"),
        ("to 1 2 3\n\nthe 1 2 3\n", r"vectors\.txt:2: expected a word and 3 numbers .*, got 0; mend"),
        ("to 1 2 3\nthe 1  2 3\n", r"vectors\.txt:2: expected .* between single blanks, got 4"),
        ("to\t1\t2\t3\n", r"vectors\.txt:1: .* got 0; mend"),
        ("to 1 2 3\nthe 1 x 3\n", r"vectors\.txt:2: expected a number, got 'x'"),
        ("the 1 nan 3\n", r"vectors\.txt:1: expected finite numbers"),
        ("the 1 1e60 3\n", r"vectors\.txt:1: expected finite numbers"),
        ("to 1 2 3\ncaf\xe9 1 2 3\n".encode("latin1"), r"vectors\.txt:2: byte 0xe9 is not UTF-8"),
        ("the 1 2 3\n".encode("utf-16"), r"vectors\.txt: is not text"),
        (b"\x1f\x8b\x08\x00\x00", r"vectors\.txt: is not text"),
        ("", r"vectors\.txt: is empty"),
        ("3 3\n", r"vectors\.txt: is empty"),
        ("der 1 2 3\n", r"vectors\.txt: has a vector for none of the 1 words of the vocabulary"),
    ],
)
def test_a_mistake_names_file_line_and_remedy(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        read_vectors(written(tmp_path, content), ["the"], 3)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UserError, match="no such file of word vectors"):
        read_vectors(tmp_path / "none.txt", ["the"], 3)
    with pytest.raises(UserError, match="cannot be read as a file of word vectors"):
        read_vectors(tmp_path, ["the"], 3)
