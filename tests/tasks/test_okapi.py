"""Okapi outputs are cut like sentences and joined again exactly; clauses are sets, in any case."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from permparse.base.errors import UserError
from permparse.tasks import get_task
from permparse.tasks.okapi import APART, clause_match, clauses
from permparse.text import tokenizers

TASK = get_task("okapi-email")
VERBOSE = get_task("okapi-email", short=False)


@pytest.mark.parametrize(
    ("output", "tokens"),
    [
        ("FILTER event.location eq Ana's office", "FILTER event.location eq Ana 's office"),
        ("SEARCH real-time (modal logic), a/b with!", "SEARCH real - time ( modal logic ) , a / b with !"),
        ("eq Paul Babicki - NY", f"eq Paul Babicki {APART}- NY"),
        ("eq Chaf- 4/12 *@_new -x x- R&D", "eq Chaf- 4/12 * @_new -x x- R&D"),
        (f"eq {APART} {APART}-", f"eq {APART}{APART} {APART}{APART}-"),
    ],
)
def test_values_are_cut_and_joined(output, tokens):
    pytest.importorskip("spacy")
    assert VERBOSE.shorten(output) == tokens.split()
    assert VERBOSE.restore(tokens.split()) == output


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab's-/().,!?*␣ E1$#%:’"), max_size=20))
def test_any_text_is_restored_up_to_white_space(output):
    pytest.importorskip("spacy")
    assert TASK.restore(TASK.shorten(output)) == " ".join(output.split())
    assert VERBOSE.restore(VERBOSE.shorten(output)) == " ".join(output.split())


@pytest.mark.parametrize(
    ("output", "short"),
    [
        ("GET message", ""),
        ("GET event", "event"),
        ("GET message FILTER message.isRead eq True COUNT", "message.isRead True COUNT"),
        ("GET message ORDERBY message.sentDateTime asc TOP 5", "message.sentDateTime asc TOP 5"),
        ("GET message FILTER message.sentDateTime gt May", "message.sentDateTime gt May"),
        ("GET message ORDERBY message.sentDateTime TOP 5", "␣ GET message ORDERBY message.sentDateTime TOP 5"),
    ],
)
def test_what_follows_from_the_attributes_is_left_out(output, short):
    pytest.importorskip("spacy")
    assert TASK.shorten(output) == short.split()
    assert TASK.restore(short.split()) == output


WORDS = [
    "GET",
    "FILTER",
    "ORDERBY",
    "COUNT",
    "eq",
    "gt",
    "asc",
    "desc",
    "message",
    "event",
    "drive.recent",
    "message.from",
    "event.start",
    "True",
    "x",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_any_request_is_restored(words):
    pytest.importorskip("spacy")
    assert TASK.restore(TASK.shorten(" ".join(words))) == " ".join(words)
    assert isinstance(TASK.restore(words), str)


def test_clauses_are_split_at_keywords():
    output = "GET drive.recent FILTER file.name eq Top TOPPING COUNT ORDERBY file.size asc TOP 5"
    assert clauses(output) == [
        "GET drive.recent",
        "FILTER file.name eq Top TOPPING",
        "COUNT",
        "ORDERBY file.size asc",
        "TOP 5",
    ]
    assert TASK.groups(TASK.example("x", output)) == {"clauses": "5"}
    assert clauses("") == []
    assert clauses("x GET y") == ["x", "GET y"]


def test_clause_match_ignores_order_and_case():
    gold = "GET event FILTER event.organizer eq Lashon Alzaga COUNT"
    assert clause_match("GET event COUNT FILTER event.organizer eq lashon alzaga", gold)
    assert not clause_match("GET event COUNT FILTER event.organizer eq alzaga lashon", gold)
    assert not clause_match("GET event FILTER event.organizer eq Lashon Alzaga", gold)
    assert TASK.metrics["exact"](gold.replace("Lashon", "LASHON"), gold)


def test_without_spacy_the_extra_is_named(monkeypatch):
    tokenizers._spacy.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(UserError, match=r"pip install 'permparse\[spacy\]'"):
        TASK.tokenize("hello")
    tokenizers._spacy.cache_clear()
