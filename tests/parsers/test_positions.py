"""Positions instead of jumps: an ablation that trains, orders and explains like the parser it is made of."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
import torch

from conftest import TINY
from permparse import Parser, load_recipe, train
from permparse.parsers.multiset_permutation.order import jump_log_probs, search_orders
from permparse.parsers.multiset_permutation.stages import jump_accuracy
from permparse.permutation import JumpProblem


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    folder = tmp_path_factory.mktemp("runs") / "positions"
    train(load_recipe("doubling", [*TINY, "scorer.jumps=false"]), folder, quiet=True)
    return Parser.load(folder)


def position_problem(size: int) -> JumpProblem:
    torch.manual_seed(size)
    zeros = torch.zeros(1, size)
    return JumpProblem(zeros, torch.zeros(1, size, size), zeros, position=torch.randn(1, size, size))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_search_finds_the_best_assignment(size: int) -> None:
    problem = position_problem(size)
    assert problem.position is not None
    scores = problem.position[0]
    best = max(float(scores[list(order), range(size)].sum()) for order in permutations(range(size)))
    assert search_orders(problem)[0].score == pytest.approx(best, abs=1e-5)


def test_probabilities_are_those_of_positions() -> None:
    problem = position_problem(4)
    assert problem.position is not None
    expected = problem.position[0].double().log_softmax(-1)
    steps = jump_log_probs(problem, [[2, 0, 3, 1]])[0]
    assert steps == pytest.approx([*expected[[2, 0, 3, 1], range(4)].tolist(), 0.0])
    allowed = torch.zeros(1, 4, 4, dtype=torch.bool)
    allowed[0, range(4), problem.position[0].argmax(1)] = True
    assert jump_accuracy(problem, allowed) == (4.0, 4.0)


def test_such_a_parser_parses_and_explains(parser: Parser, tmp_path: Path) -> None:
    found = parser.parse("a b")
    assert -1e9 < found.order_log_prob <= 0.0
    assert parser.explain(found) is not None
    parser.save(tmp_path / "again")
    assert Parser.load(tmp_path / "again").parse("a b").output == found.output
