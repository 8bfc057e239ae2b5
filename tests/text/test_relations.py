"""What the numbers of tokens have to do with each other."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.text.relations import Equation, Relations, _equations, _rank

NAMES = ["texas", "ohio", "utah", "iowa", "maine"]


def question(chance: random.Random, depth: int) -> tuple[list[str], list[str]]:
    """Words and tokens of a nested query: `state borders IN state borders texas )`."""
    words, tokens, open_brackets = ["states"], ["state"], 0
    for _ in range(depth):
        words += ["bordering", "states"]
        tokens += ["borders", "IN", "state"]
        open_brackets += 1
    name = chance.choice(NAMES)
    best = ["largest", "smallest"][: chance.randint(0, 2)]
    return [*words, "near", name, *best], [*tokens, "borders", name, *[")"] * open_brackets, *best]


def questions(number: int, depths: tuple[int, ...] = (0, 1, 2)) -> list[tuple[list[str], list[str]]]:
    chance = random.Random(0)
    return [question(chance, chance.choice(depths)) for _ in range(number)]


LEARNED = Relations.learn(questions(200))


def test_equations_are_those_of_the_language():
    assert sorted(map(str, LEARNED.equations)) == [") + 1 = state", "IN + 1 = state", "borders = state"]
    assert LEARNED.outputs == 200
    assert not LEARNED.rare


def test_they_hold_deeper_and_for_new_values():
    for _, tokens in questions(50, (3, 7)):
        assert not LEARNED.broken_by(tokens)
        assert not LEARNED.broken_by([token if token not in NAMES else "new york" for token in tokens])
        assert LEARNED.cost(tokens) == 0.0


@pytest.mark.parametrize("lost", [")", "IN", "state", "borders"])
def test_a_multiset_that_lacks_a_token_breaks_one(lost):
    _, tokens = question(random.Random(1), 3)
    tokens.remove(lost)
    assert LEARNED.broken_by(tokens)
    assert LEARNED.cost(tokens) == pytest.approx(2 * np.log(202))
    assert LEARNED.broken_by([*tokens, lost, lost])


def test_values_may_be_any_number():
    _, tokens = question(random.Random(1), 2)
    assert not LEARNED.broken_by([*tokens, "texas", "texas", "elsewhere"])


def test_multisets_with_rare_operators_are_not_judged():
    pairs = [*questions(200), (["strange"], ["odd", "state"])]
    found = Relations.learn(pairs)
    assert found.rare == {"odd"}
    assert found.outputs == 200
    assert not found.broken_by(["odd", "state"])
    assert found.broken_by(["state"])


def test_what_only_examples_with_rare_operators_have_is_rare():
    pairs = [*questions(200), (["one"], ["odd", "even"]), (["two"], ["prime", "even"])]
    assert Relations.learn(pairs).rare == {"odd", "even", "prime"}


def test_accidents_give_no_equations():
    chance = random.Random(0)
    pairs = [([], [f"t{chance.randrange(60)}" for _ in range(5)] + ["head"]) for _ in range(80)]
    assert not Relations.learn(pairs).broken_by(["t1", "t2", "t3", "t4", "t5", "head"])


@pytest.mark.parametrize("pairs", [[], [([], [])], [(["a"], ["a"])] * 50, [([], ["x"])] * 7, [([], [])] * 100])
def test_little_data_is_no_trouble(pairs):
    found = Relations.learn(pairs)
    assert not any(found.broken_by(tokens) for _, tokens in pairs)
    assert found.broken_by([]) in (False, True)


def test_a_constant_number_is_an_equation():
    found = Relations.learn([([], ["answer"] * 2)] * 50)
    assert list(map(str, found.equations)) == ["answer = 2"]
    assert found.broken_by(["answer"])
    assert found.broken_by([])
    assert not found.broken_by(["answer", "answer"])


@given(st.integers(1, 5), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_equations_span_all_that_hold_and_hold_exactly(tokens, rows, seed):
    matrix = np.random.default_rng(seed).integers(0, 3, (rows, tokens))
    differences = (matrix[1:] - matrix[0]).tolist()
    assert _rank(matrix) == exact_rank(differences)
    names = [f"t{i}" for i in range(tokens)]
    found = _equations(names, matrix)
    assert len(found) <= tokens - exact_rank(differences)
    for equation in found:
        left = matrix @ [equation.coefficients.get(name, 0) for name in names]
        assert (left == equation.total).all()


@given(st.integers(0, 2**32 - 1))
def test_no_training_output_is_ever_broken(seed):
    chance = random.Random(seed)
    pairs = [(["w"], chance.choices(["a", "b", "c", "d"], k=chance.randint(0, 6))) for _ in range(60)]
    pairs = [(words, [*tokens, *(["e"] * tokens.count("a"))]) for words, tokens in pairs]
    found = Relations.learn(pairs)
    assert not any(found.broken_by(tokens) for _, tokens in pairs)


def exact_rank(rows: list[list[int]]) -> int:
    """By elimination in fractions."""
    left, rank = [[Fraction(x) for x in row] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            left = [
                [x - y * row[column] / pivot[column] for x, y in zip(row, pivot, strict=True)]
                for row in left
                if row is not pivot
            ]
            rank += 1
    return rank


def test_they_are_read_back():
    assert Relations.from_json(json.loads(json.dumps(LEARNED.to_json()))) == LEARNED
    assert Relations.from_json(Relations().to_json()) == Relations()


def test_they_are_said_in_words():
    assert LEARNED.facts() == ["numbers of tokens: ) + 1 = state, IN + 1 = state, 1 more"]
    assert Relations().facts() == []
    assert str(Equation({"a": 2, "b": -1}, 0)) == "2 a = b"
    assert str(Equation({"a": 1}, 0)) == "a = 0"
    assert str(Equation({"a": -1, "b": -2}, -3)) == "3 = a + 2 b"


def test_more_tokens_than_can_be_counted_give_no_equations(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("permparse.text.relations.MOST_TOKENS", 3)
    assert Relations.learn(questions(200)) == Relations()


def test_rarer_tokens_are_left_out_where_all_are_too_many_to_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("permparse.text.relations.MOST_TOKENS", 3)
    often, rarely = ("open", "close"), [f"rare{i}" for i in range(20)]
    chance = random.Random(0)
    pairs = []
    for i in range(400):
        size = chance.randint(1, 3)
        pairs.append((["w"], [*often * size, rarely[i] if i < len(rarely) else "x"]))
    learned = Relations.learn(pairs)
    assert "close = open" in map(str, learned.equations)
    assert learned.rare == frozenset(rarely)
