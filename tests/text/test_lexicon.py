"""The induced lexicon holds throughout its training data; copying is the fallback; case counts if asked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text import Example, Lexicon
from permparse.text.lexicon import induce_entries, is_variable


def pairs(*lines):
    return [tuple(side.split() for side in line.split("|")) for line in lines]


def induce(*lines, excluded=()):
    sources, targets = zip(*pairs(*lines), strict=True)
    return induce_entries(sources, targets, excluded)


def examples(*lines):
    return [Example(tuple(s), tuple(t), " ".join(t), " ".join(s)) for s, t in pairs(*lines)]


def test_inflected_forms_share_a_token():
    entries = induce("Ava ate | eat agent Ava", "Ava has eaten | eat agent Ava", "Bo slept | sleep agent Bo")
    assert entries["ate"] == entries["eaten"] == "eat"
    assert entries["slept"] == "sleep"
    assert entries["Ava"] == "Ava"


def test_a_word_that_does_not_always_have_the_token_is_left_out():
    assert induce("the cat | * cat", "the dog | dog")["cat"] == "cat"
    assert "the" not in induce("the cat | * cat", "the dog | dog", "a dog | * dog", excluded={"cat", "dog"})


def test_group_necessity_drops_a_token_with_unexplained_outputs():
    data = ("in x | p x", "on x | p x", "x | x", "z | z")
    assert induce(*data) == {"in": "p", "on": "p", "x": "x", "z": "z"}
    assert induce(*data, "x | p x") == {"x": "x", "z": "z"}


def test_a_token_that_comes_and_goes_with_one_word_belongs_to_no_other():
    assert induce("a cat | cat", "a dog | dog", "the old cat | cat") == {"cat": "cat", "dog": "dog"}


def test_a_token_in_every_output_is_the_meaning_of_no_word():
    assert induce("show events | GET event", "list meetings | GET event") == {}


def test_a_word_that_explains_nothing_new_is_left_out():
    assert induce("fly united | ua", "united across | ua", "ua | ua", "x | y") == {
        "ua": "ua",
        "united": "ua",
        "x": "y",
    }


def test_excluded_tokens_are_never_entries():
    assert induce("the cat | * cat", "the dog | * dog", excluded={"*"}) == {"cat": "cat", "dog": "dog"}


def test_no_data_gives_no_entries():
    assert induce_entries([], []) == {}
    assert induce_entries([["a"]], [[]]) == {}


tokens = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=8))
def test_entries_hold_throughout_the_data(data):
    entries = induce_entries([x for x, _ in data], [y for _, y in data])
    for source, target in data:
        assert all(entries[x] in target for x in source if x in entries)
        assert all(any(entries.get(x) == y for x in source) for y in target if y in entries.values())


def test_copying_is_the_fallback():
    lexicon = Lexicon.induce(examples("Ava slept | sleep Ava"), non_copyable={"GET"})
    assert lexicon.lookup("slept") == "sleep"
    assert lexicon.lookup("Zoe") == "Zoe"
    assert lexicon.lookup("GET") is None


def test_modes():
    data = examples("Ava slept | sleep Ava")
    assert Lexicon.copying(data).lookup("slept") == "slept"
    assert Lexicon.empty(data).lookup("slept") is None


def test_a_number_is_not_copied_where_numbers_are_variables():
    assert Lexicon.copying(variables=True).lookup("6") is None
    assert Lexicon.copying(variables=True).lookup("06") == "06"
    assert Lexicon.copying().lookup("6") == "6"
    data = examples("6 cats | cat 6", "6 dogs | dog 6")
    assert "6" not in Lexicon.induce(data, variables=True).entries


@pytest.mark.parametrize(("token", "expected"), [("0", True), ("12", True), ("012", False), ("٣", False), ("", False)])
def test_variables_are_plain_decimal_numbers(token, expected):
    assert is_variable(token) is expected


def test_case_insensitive_copying_spells_as_training_does():
    data = examples(
        "events last thursday | GET event last Thursday",
        "events on Thursday | GET event Thursday",
        "thursday events | GET event thursday",
    )
    lexicon = Lexicon.copying(data, non_copyable={"GET"}, case_insensitive=True)
    assert lexicon.lookup("THURSDAY") == "thursday" == lexicon.canonical("Thursday")
    assert lexicon.surface("thursday", "THURSDAY") == "Thursday"
    assert lexicon.surface("zoé", "Zoé") == "Zoé"
    assert lexicon.surface("zoé", "other") == "zoé"


def test_keywords_keep_their_case_and_apart_from_words():
    lexicon = Lexicon.copying(examples("get x | GET x"), non_copyable={"GET"}, case_insensitive=True)
    assert lexicon.canonical("GET") == "GET"
    assert lexicon.lookup("Get") == "get"
    assert lexicon.surface("GET", "get") == "GET"


def test_where_case_matters_tokens_are_canonical_and_printed_as_they_are():
    lexicon = Lexicon.induce(examples("Ava | Ava"))
    assert lexicon.canonical("Ava") == lexicon.surface("Ava", "ava") == "Ava"


@pytest.mark.parametrize("case_insensitive", [False, True])
def test_round_trip_through_json(case_insensitive):
    data = examples("Ava slept | sleep Ava", "GET it | GET It")
    lexicon = Lexicon.induce(data, non_copyable={"GET"}, case_insensitive=case_insensitive, variables=True)
    assert Lexicon.from_json(json.loads(json.dumps(lexicon.to_json()))) == lexicon


@pytest.mark.parametrize("broken", [{}, {"mode": "copy"}, {"mode": "other", "entries": {}}])
def test_damaged_json_is_refused(broken):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Lexicon.from_json(broken)


def test_by_number_a_token_is_left_to_the_words_that_there_are_as_many_of() -> None:
    """A dash stands wherever the token does, in other numbers; a comma and "and" say a token together."""
    sources = ["- do -", "do - - do", "- - do x", "y", "x , y and y", "x and y"] * 10
    targets = ["all", "all all", "all x", "y", "x sep y sep y", "x sep y"] * 10
    examples = [Example(tuple(s.split()), tuple(t.split()), t, s) for s, t in zip(sources, targets, strict=True)]
    entries = Lexicon.induce(examples, by_number=True).entries
    assert entries["do"] == "all"
    assert "-" not in entries
    assert "sep" not in entries.values()


def test_by_number_a_rare_form_shares_the_token_of_its_word() -> None:
    pairs = [
        (f"{name} {did}", f"{do} agent {name}")
        for name in ("Ann", "Bob", "Eve", "Dan")
        for did, do in (("rolled", "roll"), ("slept", "sleep"))
    ] * 20
    pairs += [("Ann wanted to roll", "want agent Ann xcomp roll")]
    examples = [Example(tuple(s.split()), tuple(t.split()), t, s) for s, t in pairs]
    entries = Lexicon.induce(examples, by_number=True).entries
    assert entries["rolled"] == entries["roll"] == "roll"
