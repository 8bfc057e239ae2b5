"""What kinds of tokens never follow each other."""

from __future__ import annotations

from itertools import permutations

import pytest

from permparse.text.kinds import Kinds
from permparse.text.notation.series import Series
from permparse.text.notation.symbols import Symbols, find_kinds
from permparse.text.succession import EXPECTED, Succession

OUTPUTS = [
    f"{verb} agent {name} theme {noun}".split()
    for verb in ("see", "buy", "sell")
    for name in ("Ann", "Bob")
    for noun in ("tea", "rye")
]
TYPES = frozenset(token for output in OUTPUTS for token in output)
KINDS = find_kinds([["<", *output] for output in OUTPUTS], TYPES, {"Ann", "Bob", "tea", "rye"}, Series())
OF = Kinds(Symbols(TYPES, KINDS))
LEARNED = Succession.learn(OUTPUTS * 20, OF)


def broken(tokens: list[str]) -> int:
    """How many rules an order breaks."""
    found = LEARNED.apart(tokens)
    assert found is not None
    n = len(tokens)
    return int(found[n, 0]) + sum(int(found[i, i + 1]) for i in range(n - 1)) + int(found[n - 1, n])


def test_training_outputs_break_no_rule():
    assert not any(broken(output) for output in OUTPUTS)


def test_values_are_alike_wherever_they_stand():
    assert not broken(["see", "agent", "Zoe", "theme", "ink"])  # never seen
    assert [LEARNED.kinds.of(token) for token in ["tea", "ink", "Zoe"]] == ["<word>", "<word>", "<Name>"]


def test_of_all_orders_only_sensible_ones_remain():
    tokens = ["see", "agent", "Ann", "theme", "tea"]
    good = [order for order in permutations(tokens) if not broken(list(order))]
    assert good == [tuple(tokens)]


@pytest.mark.parametrize("times", [1, EXPECTED * 100])
def test_rare_kinds_rule_nothing_out(times):
    found = Succession.learn([["a", "1"], ["1", "a"]] * times, Kinds())
    assert (("<word>", "<word>") in found.never) == (times > 1)


def test_without_rules_nothing_is_ruled_out():
    assert Succession().apart(["a", "b"]) is None
    assert Succession.learn([], Kinds()).never == frozenset()


def test_brackets_may_close_one_after_the_other():
    outputs = [
        f"{verb} ( {name} ) {noun}".split() for verb in ("see", "buy") for name in ("Ann", "Bob") for noun in "ab"
    ]
    kinds = Kinds(Symbols(frozenset("()")))
    strict, wide = (Succession.learn(outputs * 20, kinds, closing) for closing in ((), {")"}))
    assert (")", ")") in strict.never
    assert strict.never - wide.never == {(")", ")")}
