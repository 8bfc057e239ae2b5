"""Queries are shortened to what their words say, and restored exactly, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.parsers.legacy import old_knowledge
from permparse.tasks import get_task

SEEN = [
    "answer _flight ( intersection _from_2 city_name boston _to_2 city_name denver )",
    "answer _flight ( intersection _from_2 city_name boston _to_2 city_name rome _day_2 day monday )",
    "answer _flight _from_2 airport_code bwi",
    "answer ( intersection _day_2 day monday _<_fare_2 dollar 100 )",
    "answer _flight _airline_2 dl",
]
TASK = get_task("atis-iid").learned([get_task("atis-iid").example("", output) for output in SEEN])
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


def test_the_types_that_a_relation_implies_are_learned_from_training_queries():
    assert TASK.knowledge == {"_<_fare_2": "dollar", "_day_2": "day", "_from_2": "city_name", "_to_2": "city_name"}
    assert get_task("atis-iid").with_knowledge(TASK.knowledge) == TASK
    unlearned = get_task("atis-iid")
    assert " ".join(unlearned.shorten(SEEN[0])) == "_flight _from_2 city_name boston _to_2 city_name denver"
    assert not VERBOSE.learned([VERBOSE.example("", SEEN[0])]).knowledge


def test_a_parser_that_knew_the_types_by_a_table_still_does():
    assert old_knowledge("atis-length", ["_to_2", "_time_elapsed_2", "boston"]) == {"_to_2": "city_name"}
    assert old_knowledge("cogs", ["_to_2"]) == {}
