"""Errors are counted in every group, shown from every group, and explained by the tokens that count."""

from __future__ import annotations

from pathlib import Path

import pytest

from permparse.evaluation.differences import WrongJump, count_kinds, difference, spread_over_groups
from permparse.evaluation.scores import Outcome, evaluate
from permparse.parsers import Parse, Parser
from permparse.tasks import Task, get_task


def _outcome(task: Task, gold: str, tokens: list[str]) -> Outcome:
    """An outcome as if a parser had put out these tokens."""
    example = task.example("a sentence", gold)
    parse = Parse("", task.restore(tokens), (), tuple(tokens), 0.0, 0.0)
    return Outcome(example, parse, tuple(task.canonical(example.target)), tuple(task.canonical(tokens)), correct={})


def test_errors_are_spread_over_groups_and_shown_by_group() -> None:
    groups = [{"length": length} for length in ("10", "10", "10", "9", "9", "100")]
    assert spread_over_groups(groups, 3) == [3, 0, 5]
    assert spread_over_groups(groups, 5) == [3, 4, 0, 1, 5]
    assert spread_over_groups(groups, 99) == [3, 4, 0, 1, 2, 5]
    assert spread_over_groups(groups, 0) == spread_over_groups([], 5) == []


def test_with_fewer_places_than_groups_the_largest_are_shown() -> None:
    groups = [{"kind": kind} for kind in "abbcc"]
    assert spread_over_groups(groups, 2) == [1, 3]


def test_without_groups_the_first_errors_are_shown() -> None:
    assert spread_over_groups([{}, {}, {}], 2) == [0, 1]


def test_kinds_are_counted_in_every_group(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run)
    examples = parser.task.load("test")[:40]
    evaluation, outcomes = evaluate(parser, examples, "test")
    assert evaluation.error_kinds is None
    wrong = [o for o in outcomes if not o.seq]
    kinds = [parser.error_kind(o.example, o.parse) for o in wrong]
    counted = count_kinds(evaluation, [parser.task.groups(o.example) for o in wrong], kinds, parser.error_kinds)
    lengths = counted.groups["length"]
    assert list(lengths) == list(evaluation.groups["length"])
    assert sum(counted.total.values()) == len(wrong) == sum(sum(counts.values()) for counts in lengths.values())
    assert counted.total["tagging"] == kinds.count("tagging") >= sum(not o.freq for o in wrong)
    for length, score in evaluation.groups["length"].items():
        assert sum(lengths[length].values()) == round(score.examples * (1 - score.metrics["exact"]))


def test_a_group_without_errors_counts_none(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run)
    evaluation, _ = evaluate(parser, parser.task.load("test")[:10], "test")
    assert set(map(tuple, (c.values() for c in count_kinds(evaluation, [], [], "ab").groups["length"].values()))) == {
        (0, 0)
    }


def test_tokens_are_compared_without_case_where_case_does_not_count() -> None:
    task, gold = get_task("okapi-email", short=False), "GET message SEARCH Interlotto tickets"
    found = difference(task, _outcome(task, gold, ["GET", "message", "TOP", "interlotto", "tickets"]))
    assert found.missing == ("SEARCH",)
    assert found.surplus == ("TOP",)
    assert found.jump is None


def test_the_first_wrong_jump_is_shown_if_the_multiset_is_right() -> None:
    task = get_task("doubling")
    found = difference(task, _outcome(task, "_a _b _a _b", ["_a", "_b", "_b", "_a"]))
    assert not found.missing
    assert not found.surplus
    assert found.jump == WrongJump("_b", "_a", "_b")


def test_the_first_token_may_be_the_wrong_one() -> None:
    task = get_task("doubling")
    jump = difference(task, _outcome(task, "_a _b", ["_b", "_a"])).jump
    assert jump == WrongJump("<start>", "_a", "_b")


def test_what_a_task_sorts_is_not_called_a_wrong_jump() -> None:
    gold = "cat ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 ) AND dog ( x _ 4 )"
    sorts, leaves = get_task("cogs"), get_task("cogs", items=False)
    items = ["dog", "4", "cat", "1", "see", ".agent", "4", ".theme", "1", "2"]
    conjuncts = ["dog", "4", "cat", "1", "see", ".agent", "2", "4", "see", ".theme", "2", "1"]
    assert difference(sorts, _outcome(sorts, gold, items)).jump == WrongJump(".agent", "1", "4")
    assert difference(leaves, _outcome(leaves, gold, conjuncts)).jump == WrongJump("<start>", "cat", "dog")


@pytest.mark.parametrize("name", ["doubling", "fragment", "cogs", "atis-length", "okapi-document"])
def test_nonsense_is_explained_too(name: str) -> None:
    task = get_task(name)
    for tokens in (["("], ["*", ")", "("], [".agent", "3", "LAMBDA"], ["GET", "GET", "-"], ["💥", "intersection"], []):
        assert difference(task, _outcome(task, "gold", tokens)).missing == tuple(task.canonical(task.shorten("gold")))
