"""Queries are shortened to what their words say, and restored exactly, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task

TASK = get_task("atis-iid")
VERBOSE = get_task("atis-iid", short=False)


@pytest.mark.parametrize(
    ("output", "short"),
    [
        (
            "answer _flight _nonstop ( intersection _from_2 city_name boston _to_2 city_name denver )",
            "_flight _nonstop _from_2 boston _to_2 denver",
        ),
        ("answer _flight _from_2 airport_code bwi", "_flight _from_2 airport_code bwi"),
        ("answer ( intersection _day_2 day monday _<_fare_2 dollar 100 )", "_day_2 monday _<_fare_2 100"),
        ("answer fare_basis_code h", "fare_basis_code h"),
        ("answer _flight all", "_flight all"),
        (
            "answer _flight ( or _from_2 city_name boston ( intersection _to_2 city_name denver not _meal all ) )",
            "_flight or _from_2 boston intersection _to_2 denver not _meal all",
        ),
        (
            "answer _flight ( intersection _economy _day_2 day monday _to_2 city_name denver )",
            "_flight intersection _economy _day_2 monday _to_2 denver",
        ),
        ("boston denver", "␣ boston denver"),
        ("", "␣"),
    ],
)
def test_what_is_implied_is_left_out(output, short):
    assert TASK.shorten(output) == short.split()
    assert TASK.restore(short.split()) == output
    assert VERBOSE.shorten(output) == output.split()
    assert VERBOSE.restore(output.split()) == output


TOKENS = [
    "answer",
    "(",
    ")",
    "intersection",
    "or",
    "not",
    "_flight",
    "_from_2",
    "_services",
    "city_name",
    "airport_code",
    "boston",
    "all",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=10))
def test_any_sequence_is_restored(tokens):
    assert TASK.restore(TASK.shorten(" ".join(tokens))) == " ".join(tokens)
    assert isinstance(TASK.restore(tokens), str)
