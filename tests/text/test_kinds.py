"""Kinds of output tokens."""

from __future__ import annotations

import json

import pytest

from permparse.text.kinds import OFTEN, Kinds
from permparse.text.notation.series import Series
from permparse.text.notation.symbols import Symbols, find_kinds

BRACKETS = {"(": ")", "{": "}"}


def learned(outputs: list[str], times: int = OFTEN) -> Kinds:
    return Kinds.learn([output.split() for output in outputs] * times, Symbols(), BRACKETS)


CALLS = [
    "see ( agent = boy ( near = * table ) , theme = cake )",
    "buy ( agent = girl , theme = * cake ( in = box ) )",
    "say ( agent = * girl , that = see ( agent = boy , theme = * box ( near = girl ) ) )",
]


def test_operators_that_are_called_like_words_are_no_values():
    kinds = learned(CALLS)
    for key in ("near", "in", "that", "agent"):
        assert kinds.of(key) == kinds.of("theme")
    for value in ("girl", "cake", "box", "boy"):
        assert kinds.of(value) == kinds.of("table") != kinds.of("near")


def test_what_a_bracket_always_follows_is_another_kind_than_what_it_may_follow():
    kinds = learned(CALLS)
    assert kinds.of("see") == kinds.of("buy") == kinds.of("say") != kinds.of("girl")


def test_a_rare_token_is_of_the_kind_that_what_follows_it_speaks_for():
    verbs = [f"{verb} ( agent = girl )" for verb in ("see", "buy", "eat", "sing", "run", "hide")]
    rare = [["ring", "(", "agent", "=", "dog", ")"], ["dog"]]
    kinds = Kinds.learn([output.split() for output in CALLS + verbs] * OFTEN + rare, Symbols(), BRACKETS)
    assert kinds.of("ring") == kinds.of("see")
    assert kinds.of("dog") == kinds.of("girl")


def test_a_new_value_is_of_the_kind_that_most_values_of_its_shape_by_far_are():
    nouns = ("rose", "lamp", "drum", "coin", "tent", "sofa", "kite", "harp", "mule", "goat", "pear", "plum")
    kinds = learned([*CALLS, "see ( agent = Ann , theme = Bob )", *(f"see ( agent = {noun} )" for noun in nouns)])
    assert kinds.of("penguin") == kinds.of("cake")
    assert kinds.of("Zoe") == kinds.of("Ann") != kinds.of("cake")


def test_a_new_value_is_of_no_kind_where_values_are_of_several():
    """Names of one word and parts of longer ones, `in(oslo)` and `in(new _ york)`: a new word may be either."""
    names = ("oslo", "rome", "bern", "riga", "new _ york", "san _ jose", "fort _ wayne", "rio _ grande")
    kinds = learned([f"in ( {name} )" for name in names])
    assert kinds.of("oslo") == kinds.of("rome") != kinds.of("new")
    assert kinds.of("lima") not in {kinds.of("oslo"), kinds.of("new"), kinds.of("york")}


def test_of_what_stands_behind_words_only_what_is_everywhere_has_a_kind_of_its_own():
    every = ["find { what : the lamp of the king }", "find { what : king }", "find { what : lamp { of : Ann } }"]
    kinds = learned(every)
    assert kinds.of("the") != kinds.of("lamp") == kinds.of("king")


def test_where_there_are_no_signs_the_notation_tells_kinds():
    outputs = [output.split() for output in ("GET f eq a", "GET g eq b", "GET h eq c")] * OFTEN
    named = {"f", "g", "h", "eq", "GET"}
    symbols = Symbols(frozenset(named), find_kinds(outputs, named, set(), Series()))
    kinds = Kinds.learn(outputs, symbols, {})
    assert [kinds.of(token) for token in ("f", "g", "h")] == [symbols.of("f")[0]] * 3
    assert kinds.of("a") == kinds.of("new") == "<word>"


@pytest.mark.parametrize("outputs", [[], [[]], [["a", "b"], ["b", "a"], ["a"], ["b"]], [["("], [")"]], [["1", "2"]]])
def test_little_or_no_data(outputs):
    kinds = Kinds.learn(outputs, Symbols(), {})
    assert kinds.of("new") == "<word>"
    assert kinds.of("7") == "<number>"


def test_stored_as_plain_json():
    kinds = learned(CALLS)
    assert Kinds.from_json(json.loads(json.dumps(kinds.to_json())), kinds.symbols) == kinds
