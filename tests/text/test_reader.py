"""Every malformed file is reported by file, line and remedy; every well-formed one is read as it is."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from permparse.base.errors import UserError
from permparse.text import Row, clean_sentence, read_tsv


@pytest.fixture
def file(tmp_path):
    return tmp_path / "train.tsv"


def test_two_columns(file):
    file.write_text("a b\tx y\nc\tz\n", encoding="utf-8")
    assert read_tsv(file) == [Row("a b", "x y", None, 1), Row("c", "z", None, 2)]


def test_three_columns(file):
    file.write_text("a\tx\tnew\n", encoding="utf-8")
    assert read_tsv(file) == [Row("a", "x", "new", 1)]


def test_windows_line_ends_byte_order_mark_and_trailing_blank_lines_do_no_harm(file):
    file.write_bytes(b"\xef\xbb\xbfa\tx\r\nb\ty\r\n\r\n\n")
    assert read_tsv(file) == [Row("a", "x", None, 1), Row("b", "y", None, 2)]


def test_unicode_line_separators_do_not_end_a_line(file):
    file.write_text("a\u2028b\tx 😀\n", encoding="utf-8")
    assert read_tsv(file)[0].output == "x 😀"


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (
            b"a\tx\nb y\n",
            2,
            "expected 2 or 3 columns between tabs (input, output[, category]), got 1; put one tab",
        ),
        (b"a\tx\ty\tz\n", 1, "got 4; remove the surplus tabs"),
        (b"a\tx\nb\ty\tnew\n", 2, "expected 2 columns as in line 1, got 3"),
        (b"a\tx\n\tx\n", 2, "the input is empty"),
        (b"a\t \n", 1, "the output is empty"),
        (b"a\tx\t\n", 1, "the category is empty"),
        (b"a\tx\n\nb\ty\n", 2, "the line is empty; remove it"),
        (b"a\tx\nb\x07\ty\n", 2, "the input has the control character U+0007 at position 2; remove it"),
        (b"a\tx\rb\n", 1, "the output has the control character U+000D"),
        (b"a\tx\nb\tcaf\xe9\n", 2, "byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("a\tx\n".encode("utf-16"), 1, "is not UTF-8"),
    ],
)
def test_malformed_lines_are_named(file, content, line, words):
    file.write_bytes(content)
    with pytest.raises(UserError) as error:
        read_tsv(file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert words in str(error.value)


def test_an_empty_file_is_refused(file):
    file.write_bytes(b"\n \n")
    with pytest.raises(UserError, match="is empty: expected lines of the form"):
        read_tsv(file)


def test_a_missing_file_is_refused(file):
    with pytest.raises(UserError, match="does not exist: check the path"):
        read_tsv(file)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match="is a folder: expected a tab-separated file"):
        read_tsv(tmp_path)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(
            st.sampled_from([b"\t", b"\n", b"a", b" ", b"\r", b"\x00", b"\xc3", b"\xa9", b"b c"]), max_size=20
        ).map(b"".join),
    )
)
def test_any_bytes_give_rows_or_a_user_error(tmp_path, content):
    file = tmp_path / "fuzz.tsv"
    file.write_bytes(content)
    try:
        rows = read_tsv(file)
    except UserError:
        return
    assert rows
    assert all(row.input.strip() and row.output.strip() for row in rows)


def test_clean_sentence_makes_white_space_single():
    assert clean_sentence("  the\tcat \n slept ") == "the cat slept"


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "\x1b[31m"])
def test_clean_sentence_refuses_emptiness_and_control_characters(text):
    with pytest.raises(UserError, match="the sentence"):
        clean_sentence(text)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")
    with pytest.raises(UserError, match="expected a regular file, found a FIFO"):
        read_tsv(tmp_path / "pipe.tsv")
