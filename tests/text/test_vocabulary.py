"""Vocabularies number tokens in a stable order and survive a round trip through JSON."""

import json

import pytest

from permparse.text import UNKNOWN, Vocabulary


def test_order_is_specials_then_frequency_then_alphabet():
    vocabulary = Vocabulary.build([["b", "c"], ["b", "a"]], specials=(UNKNOWN, "LEX"))
    assert vocabulary.to_list() == [UNKNOWN, "LEX", "b", "a", "c"]
    assert vocabulary.ids(["b", "never seen", "LEX"]) == [2, 0, 1]
    assert vocabulary.token(2) == "b"
    assert len(vocabulary) == 5
    assert "c" in vocabulary
    assert "d" not in vocabulary


def test_rare_tokens_can_be_left_out():
    assert Vocabulary.build([["b", "c", "b"]], min_count=2).to_list() == ["b"]


def test_an_unknown_token_is_an_error_without_the_special():
    with pytest.raises(KeyError):
        Vocabulary(["a"]).id("b")


def test_a_token_may_not_recur():
    with pytest.raises(ValueError, match="found twice"):
        Vocabulary(["a", "a"])


def test_round_trip_through_json():
    vocabulary = Vocabulary.build([["ä", "😀", "b"]], specials=(UNKNOWN,))
    again = Vocabulary.from_list(json.loads(json.dumps(vocabulary.to_list())), specials=(UNKNOWN,))
    assert again == vocabulary


def test_a_list_with_other_specials_is_refused():
    with pytest.raises(ValueError, match="expected a list beginning with"):
        Vocabulary.from_list(["a", "b"], specials=(UNKNOWN,))
