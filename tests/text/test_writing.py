"""Outputs in a learned notation come back exactly, whatever they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.text import Writing
from permparse.text.tokenizers import word_tokens
from permparse.text.writing import LEVELS
from text.synthetic import NAMES, calls

PAIRS = [(tuple(source.split()), output) for source, output in calls(1, 400, [0, 1, 2], 3, NAMES)]
VARIABLES = [
    (
        ("the", noun, verb, "the", other),
        f"{noun} ( x _ {1 + k} ) AND {verb} ( x _ {2 + k} ) AND {other} ( x _ {4 + k} )",
    )
    for k in (1,)
    for noun in ("visitor", "baker", "driver", "singer")
    for other in ("table", "window", "garden", "kitchen")
    for verb in ("cleaned", "painted", "measured")
]


@pytest.mark.parametrize("level", LEVELS)
def test_every_output_is_restored_at_every_level(level: str) -> None:
    writing = Writing.learn(level, get_task("tsv"), True, PAIRS)
    for _, output in PAIRS:
        assert writing.restore(writing.shorten(output)) == output


@given(st.text(alphabet="ab01 ,()=\"'§⁀é", max_size=30))
def test_any_text_is_restored_and_survives_storage(text: str) -> None:
    for writing in (PLAIN, COUNTED):
        text = " ".join(text.split())
        assert writing.restore(writing.shorten(text)) == text
        again = Writing.from_json(json.loads(json.dumps(writing.to_json())), get_task("tsv"))
        assert again.shorten(text) == writing.shorten(text)


def test_numbers_that_name_positions_count_from_zero_in_targets() -> None:
    assert COUNTED.first_position == 1
    source, output = VARIABLES[0]
    short = COUNTED.shorten(output)
    assert [token for token in short if token.isdigit()] == ["1", "2", "4"]
    assert source[1] == "visitor"
    assert COUNTED.restore(short) == output


def test_words_and_signs_are_cut_apart() -> None:
    assert word_tokens("Ana's category. (10-12, o'clock)") == [
        *("Ana", "'s", "category", ".", "(", "10-12", ",", "o'clock", ")")
    ]


PLAIN = Writing.learn("full", get_task("tsv"), True, PAIRS)
COUNTED = Writing.learn("signs", get_task("tsv"), True, VARIABLES * 3)
