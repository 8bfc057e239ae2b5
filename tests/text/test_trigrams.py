"""The trigram model against its formulas, and what surprises it."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text import Trigrams

TOKENS = st.sampled_from("abcde")
SEQUENCES = st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=8)


def _by_the_formula(sequences: list[list[str]], token: str, history: tuple[str, ...]) -> float:
    """Witten-Bell straight from its definition, counting anew for every call."""
    seen = [
        (tuple(padded[i - len(history) : i]), padded[i])
        for padded in (["<s>", "<s>", *s, "</s>"] for s in sequences)
        for i in range(2, len(padded))
    ]
    new = 1 / (len({after for _, after in seen}) + 1)
    shorter = _by_the_formula(sequences, token, history[1:]) if history else new
    follow = [after for before, after in seen if before == history]
    if not follow:
        return shorter
    types = len(set(follow))
    return (follow.count(token) + types * shorter) / (len(follow) + types)


@given(SEQUENCES, st.lists(TOKENS, max_size=3), TOKENS)
def test_probabilities_are_those_of_the_formula(sequences: list[list[str]], history: list[str], token: str) -> None:
    model = Trigrams.count(sequences)
    expected = _by_the_formula(sequences, token, tuple(history[-2:]))
    assert model.probability(token, tuple(history)) == pytest.approx(expected)


@given(SEQUENCES, st.tuples(TOKENS, TOKENS))
def test_probabilities_of_all_tokens_and_a_new_one_add_up_to_one(
    sequences: list[list[str]], history: tuple[str, str]
) -> None:
    model = Trigrams.count(sequences)
    tokens = {token for sequence in sequences for token in sequence} | {"</s>"}
    assert sum(model.probability(t, history) for t in [*tokens, "new"]) == pytest.approx(1)


@given(SEQUENCES, st.lists(st.sampled_from("abcxy"), max_size=6))
def test_surprise_adds_up_what_is_less_likely_than_anywhere(sequences: list[list[str]], sequence: list[str]) -> None:
    model = Trigrams.count(sequences)
    padded = ["<s>", "<s>", *sequence, "</s>"]
    gains = [
        log(_by_the_formula(sequences, padded[i], (padded[i - 2], padded[i - 1])))
        - log(_by_the_formula(sequences, padded[i], ()))
        for i in range(2, len(padded))
    ]
    assert model.surprise(sequence) == pytest.approx(-sum(min(0, g) for g in gains), abs=1e-9)
    assert model.surprise(sequence) >= 0


def test_what_training_has_is_not_surprising_and_what_it_never_has_is() -> None:
    model = Trigrams.count([["to", "<lex>"], ["from", "<lex>"], ["from", "<lex>", "to", "<lex>"]] * 5)
    assert model.surprise(["from", "<lex>", "to", "<lex>"]) < 0.5
    assert model.surprise(["from", "to", "<lex>"]) > 2
    assert model.surprise(["<lex>", "to"]) > 2


def test_an_empty_model_and_an_empty_sequence() -> None:
    assert Trigrams.count([]).surprise(["a"]) == 0
    assert Trigrams.count([]).surprise([]) == 0
    assert Trigrams.count([[]]).surprise([]) == 0


@given(SEQUENCES)
def test_json_gives_the_same_model(sequences: list[list[str]]) -> None:
    model = Trigrams.count(sequences)
    copy = Trigrams.from_json(model.to_json())
    assert copy.surprise(["a", "b", "c"]) == model.surprise(["a", "b", "c"])
    assert copy.to_json() == model.to_json()
