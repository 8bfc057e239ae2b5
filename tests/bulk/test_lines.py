"""Sentences from bytes: in batches, without what is no text, and never more of them in memory than needed."""

import io

from permparse.base.errors import UserError
from permparse.bulk.lines import BATCH, LONGEST_LINE, batches, chunks_of


def test_lines_come_in_batches_without_the_byte_order_mark() -> None:
    found = list(batches([b"\xef\xbb\xbfa b\nc\r\n" + b"x\n" * 300 + b"end"]))
    lines = [line for batch in found for line in batch]
    assert lines[:2] == ["a b", "c"]
    assert lines[-1] == "end"
    assert len(lines) == 303
    assert max(map(len, found)) <= BATCH


def test_inside_a_file_there_is_no_byte_order_mark() -> None:
    assert list(batches([b"\xef\xbb\xbfa\n"], first=False)) == [["\ufeffa"]]


def test_a_line_without_end_is_refused_and_the_next_one_parsed() -> None:
    stream = io.BytesIO(b"a\n" + b"x" * (3 * LONGEST_LINE) + b"\nb\nleft out")
    size = 3 * LONGEST_LINE + 5
    first, long, last = (line for batch in batches(chunks_of(stream, size)) for line in batch)
    assert (first, last) == ("a", "b")
    assert isinstance(long, UserError)
    assert "longer than" in str(long)


def test_what_is_no_text_says_why() -> None:
    (good, bad), *_ = batches([b"a\nb\xff\n"])
    assert good == "a"
    assert str(bad) == "not UTF-8 text (byte 2 is 0xff); convert it first"
