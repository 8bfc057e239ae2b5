"""Who can produce which token: the lexicon, a variable, or any word."""

import pytest

from permparse.text import LEX, VAR, Copies, Producers, is_variable, unreachable

SYMBOLS = {"agent", "*", "Emma"}


def producers(lexical, variables=False):
    return Producers(lexical, SYMBOLS, variables)


def test_every_kind_of_token_has_its_producers():
    found = producers([None, "cat", "see"], variables=True).target(["*", "cat", "1", "see", "agent", "2", "1"])
    assert set(found.copies) == {
        Copies("*", 1, (0, 1, 2)),
        Copies(LEX, 1, (1,), (1,)),
        Copies(VAR, 2, (1,)),
        Copies(LEX, 1, (2,), (2,)),
        Copies("agent", 1, (0, 1, 2)),
        Copies(VAR, 1, (2,)),
    }
    assert found.unproducible == {}


def test_words_with_the_same_lexical_token_share_it():
    assert producers(["cat", None, "cat"]).target(["cat", "cat"]).copies == (Copies(LEX, 2, (0, 2), (0, 2)),)


def test_a_token_that_could_be_copied_may_come_from_any_other_word_too():
    """Appendix C.2 of the paper: the operator "." beside a full stop must not be forced onto it."""
    (copies,) = producers(["Liam", "Emma", None]).target(["Emma", "Emma"]).copies
    assert copies == Copies("Emma", 2, (0, 1, 2), (1,))
    assert [copies.symbol_at(i) for i in range(3)] == ["Emma", LEX, "Emma"]
    assert producers(["Liam"]).target(["Emma"]).copies == (Copies("Emma", 1, (0,)),)


def test_what_nothing_can_produce_is_reported_with_its_multiplicity():
    found = producers([None, None], variables=True).target(["7", "x", "x", "01"])
    assert found.copies == ()
    assert found.unproducible == {"7": 1, "x": 2, "01": 1}
    assert producers([]).target(["agent"]).unproducible == {"agent": 1}


@pytest.mark.parametrize(("token", "verdict"), [("0", True), ("12", True), ("01", False), ("²", False), ("٣", False)])
def test_a_variable_is_a_decimal_number_without_leading_zeros(token, verdict):
    assert is_variable(token) is verdict
    assert (producers([None] * 20, variables=True).kinds([token]) == [VAR]) is verdict


def test_empty_target_has_no_copies():
    assert producers(["cat"]).target([]).copies == ()


def test_copies_beyond_the_largest_count_are_unreachable():
    small, large = Copies("agent", 8, (0, 1)), Copies("agent", 9, (0, 1))
    assert unreachable([small, large], max_count=4) == [large]


def test_operators_are_anchored_at_the_word_they_precede():
    # * cat 1 see agent 2 1: "*" precedes the word cat, "agent" the variable of see
    target = ["*", "cat", "1", "see", "agent", "2", "1"]
    found = producers([None, "cat", "see"], variables=True).anchored(target)
    assert found == [Copies("*", 1, (1,)), Copies("agent", 1, (2,))]


def test_what_precedes_an_ambiguous_word_or_nothing_is_not_anchored():
    assert producers(["cat", "cat"]).anchored(["agent", "cat"]) == []
    assert producers(["cat"]).anchored(["cat", "agent"]) == []
    assert producers(["cat"]).anchored(["agent", "agent", "?", "cat"]) == [Copies("agent", 2, (0,))]


def test_tokens_are_attributed_to_the_homes_given():
    target = ["*", "cat", "1", "see", "agent", "2", "1"]
    homes = [2, 2, None, 5, 5, None, None]
    found = producers([None, "cat", "see"], variables=True).attributed(target, homes)
    assert found == [Copies("*", 1, (1,)), Copies("agent", 1, (2,))]
    assert producers(["cat", "cat"]).attributed(["agent", "cat"], [1, None]) == []
    assert producers(["cat"]).attributed(["agent", "*"], [1, None]) == []


def test_a_home_may_be_an_ordinary_token_whose_position_is_known():
    target, homes = ["*", "agent", "cat"], [None, 0, None]
    assert producers(["cat", "ran"]).attributed(target, homes) == []
    assert producers(["cat", "ran"]).attributed(target, homes, {"*": 1}) == [Copies("agent", 1, (1,))]


def test_an_adjacent_anchor_has_nothing_between():
    target = ["agent", "*", "cat"]
    assert producers(["cat"]).anchored(target) == [Copies("*", 1, (0,)), Copies("agent", 1, (0,))]
    assert producers(["cat"]).anchored(target, adjacent=True) == [Copies("*", 1, (0,))]
