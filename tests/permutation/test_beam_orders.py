"""Beam search over jumps: always a permutation, greedy with width 1, the best order if the beam is wide enough."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
import torch

from permparse.permutation import JumpProblem
from permparse.permutation.decoding import beam_orders


def random_problem(seed: int, size: int, batch: int = 3) -> JumpProblem:
    chance = torch.Generator().manual_seed(seed)
    start, end = torch.randn(2, batch, size, generator=chance, dtype=torch.float64)
    return JumpProblem(start, torch.randn(batch, size, size, generator=chance, dtype=torch.float64), end)


def score(problem: JumpProblem, b: int, order: tuple[int, ...]) -> float:
    jumps = sum(float(problem.jump[b, k, i]) for k, i in pairwise(order))
    return float(problem.start[b, order[0]]) + jumps + float(problem.end[b, order[-1]])


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_order(seed: int) -> None:
    problem = random_problem(seed, 5)
    for b, found in enumerate(beam_orders(problem, width=200)):
        best = max(permutations(range(5)), key=lambda order: score(problem, b, order))
        assert tuple(found.order) == best
        assert found.score == pytest.approx(score(problem, b, best))


@pytest.mark.parametrize("width", [1, 2, 7])
def test_every_order_is_a_permutation_with_its_true_score(width: int) -> None:
    problem = random_problem(9, 8)
    for b, found in enumerate(beam_orders(problem, width)):
        assert sorted(found.order) == list(range(8))
        assert found.score == pytest.approx(score(problem, b, tuple(found.order)))


def test_width_one_takes_the_best_next_jump() -> None:
    problem = random_problem(3, 6, batch=1)
    order = [int(problem.start[0].argmax())]
    while len(order) < 6:
        left = [i for i in range(6) if i not in order]
        last = len(order) == 5
        order.append(max(left, key=lambda i: float(problem.jump[0, order[-1], i]) + last * float(problem.end[0, i])))
    assert beam_orders(problem, 1)[0].order == order


def test_nothing_to_order_and_no_beam_at_all() -> None:
    assert beam_orders(random_problem(0, 0, batch=1))[0].order == []
    with pytest.raises(ValueError, match="at least 1"):
        beam_orders(random_problem(0, 2), 0)
