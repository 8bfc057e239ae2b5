"""Which kinds of tokens follow each other only within a word, or only between words."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np

from permparse.text.kinds import Kinds
from permparse.text.origins import NOWHERE, OFTEN, Origins

# the sailor ate a pie: sailor 1 eat 2 1 2 4 pie 4
TOKENS, POSITIONS = ["sailor", "1", "eat", "2", "1", "2", "4", "pie", "4"], [1, 1, 2, 2, 1, 2, 4, 4, 4]
LEARNED = Origins.learn([(TOKENS, POSITIONS)] * OFTEN, Kinds())


def broken(tokens: list[str], positions: list[int]) -> int:
    """How many rules an order breaks."""
    found = LEARNED.apart(tokens, np.array(positions))
    assert found is not None
    assert not found[-1].any()  # the start and the end are never ruled out
    assert not found[:, -1].any()
    return sum(int(found[i, i + 1]) for i in range(len(tokens) - 1))


def test_rules_are_what_training_never_breaks():
    assert LEARNED.within == {("<word>", "<number>")}
    assert LEARNED.between == {("<number>", "<number>")}
    assert broken(TOKENS, POSITIONS) == 0


def test_a_word_is_followed_by_its_own_number_and_numbers_are_of_two_words():
    tokens, positions = ["boy", "1", "1", "run", "3"], [1, 1, 1, 3, 3]
    orders = permutations(range(5))
    good = [order for order in orders if not broken([tokens[i] for i in order], [positions[i] for i in order])]
    written = {tuple(tokens[i] for i in order) for order in good}
    assert ("boy", "1", "run", "3", "1") in written
    assert not any(pair in pairwise(order) for order in written for pair in (("1", "1"), ("boy", "3")))


def test_tokens_of_no_certain_word_are_free():
    assert broken(["boy", "1", "1"], [1, 1, 1]) == 1
    assert broken(["boy", "1", "1"], [NOWHERE, 1, NOWHERE]) == 0
    nowhere = [NOWHERE] * len(TOKENS)
    assert Origins.learn([(TOKENS, nowhere)] * OFTEN, Kinds()) == Origins(Kinds())


def test_what_is_rare_rules_nothing_out():
    found = Origins.learn([(["boy", "1"], [1, 1])] * (OFTEN - 1), Kinds())
    assert found.apart(["boy", "2"], np.array([1, 2])) is None


def test_no_tokens():
    assert LEARNED.apart([], np.array([], dtype=int)) is None
