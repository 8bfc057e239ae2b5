"""Statements about positions: gathered by the position they are about, and scattered again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text.notation.brackets import Brackets
from permparse.text.notation.statements import AS_IT_IS, Statements, find_statements

ROUND = Brackets({"(": ")"})
FOUND = Statements(ROUND, "AND", {"*": ";"})


def output(text: str) -> list[str]:
    return text.split()


def made(chance: random.Random) -> list[str]:
    """An output as training has them: definite nouns first, then all else, by position."""
    places = sorted(chance.sample(range(9), chance.randint(1, 4)))
    nouns = [f"* cat ( x {p} )" for p in places if chance.random() < 0.5]
    rest = [f"see . agent ( x {p} , x {chance.randrange(9)} )" for p in places]
    return output(" ; ".join([*nouns, " AND ".join(rest)]))


def test_statements_are_found():
    chance = random.Random(0)
    assert find_statements([made(chance) for _ in range(300)], ROUND) == FOUND


def test_statements_stand_with_their_positions():
    given = output(
        "* ring ( x 3 ) ; eat . agent ( x 1 , Emma ) AND eat . theme ( x 1 , x 3 ) AND ring . on ( x 3 , x 6 )"
    )
    gathered = output(
        "eat . agent ( x 1 , Emma ) AND eat . theme ( x 1 , x 3 ) AND * ring ( x 3 ) AND ring . on ( x 3 , x 6 )"
    )
    assert FOUND.gathered(given) == gathered
    assert FOUND.scattered(gathered) == given


def test_statements_that_a_parser_puts_elsewhere_find_their_place():
    assert FOUND.scattered(output("see ( x 5 ) AND eat ( x 1 ) AND * cat ( x 7 )")) == output(
        "* cat ( x 7 ) ; eat ( x 1 ) AND see ( x 5 )"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "LAMBDA a . see ( a )",
        "see ( x 2 ) AND see ( x 1 )",
        "see ( x 1 ) ; * cat ( x 2 )",
        "AND AND",
        "see ( x 1 ) AND",
        ") ( x 1 ) AND ( (",
        "¶ see ( x 1 )",
        "¶",
        "see ( x ² ) AND see ( x 1 )",
    ],
)
def test_every_output_comes_back(text):
    assert FOUND.scattered(FOUND.gathered(output(text))) == output(text)


@given(st.lists(st.sampled_from(["*", ";", "AND", "(", ")", "x", "1", "2", "cat", AS_IT_IS])))
def test_any_tokens_come_back(tokens):
    assert FOUND.scattered(FOUND.gathered(tokens)) == tokens


def test_what_has_no_fixed_order_is_left_alone():
    chance = random.Random(0)
    shuffled = []
    for _ in range(300):
        parts = [f"see ( x {chance.randrange(50)} )" for _ in range(3)]
        shuffled.append(output(" AND ".join(parts)))
    assert find_statements(shuffled, ROUND) is None
    assert find_statements([output("go ( home )")] * 50, ROUND) is None
    assert find_statements([], Brackets()) is None


def test_they_are_saved_as_readable_json():
    assert Statements.from_json(FOUND.to_json()) == FOUND
