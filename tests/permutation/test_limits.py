"""A search within a limit of steps: an order all the same, a bound that holds, and the usual answer if it suffices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from permparse.permutation import JumpProblem
from permparse.permutation.decoding import decode, k_best
from permparse.permutation.decoding.assignment import solve_assignment
from permparse.permutation.decoding.tours import label_cycles, order_of, patch_cycles, tour_costs
from permutation.oracles_decoding import ranked_orders


def problem(n: int, kind: str) -> JumpProblem:
    generator = torch.Generator().manual_seed(n)
    jump = torch.randn(1, n, n, generator=generator, dtype=torch.float64)
    if kind == "tied":
        jump = torch.zeros_like(jump)
    elif kind == "pairs":  # many cycles of two, as when one word is repeated
        jump = jump + 10 * (torch.arange(n)[:, None] ^ 1 == torch.arange(n))
    ends = torch.randn(2, 1, n, generator=generator, dtype=torch.float64)
    return JumpProblem(ends[0], jump, ends[1])


@pytest.mark.parametrize("kind", ["random", "tied", "pairs"])
@pytest.mark.parametrize("steps", [1, 30, 300, 3_000, 30_000])
def test_any_limit_gives_an_order_and_a_bound(kind, steps):
    given = problem(7, kind)
    found = decode(given, steps=steps)[0]
    assert sorted(found.order) == list(range(7))
    assert found.score == pytest.approx(float(given.score([found.order])))
    best = ranked_orders(given, 0)[0][0]
    assert found.bound >= best - 1e-9
    assert found.score <= best + 1e-9
    assert not found.proven_optimal or found.score == pytest.approx(best)


@pytest.mark.parametrize("kind", ["random", "tied", "pairs"])
def test_a_limit_that_suffices_changes_nothing(kind):
    given = problem(30, kind)
    assert decode(given, steps=10**9) == decode(given)
    assert k_best(given, 3, steps=10**9) == k_best(given, 3)


def _steps_of_patching(cost: np.ndarray) -> int:
    """Steps that it takes to merge pairs of neighbours into one tour."""
    m = len(cost)
    successor, label = np.arange(m) ^ 1, np.empty(m, np.int64)
    work = np.array([10**12])
    assert patch_cycles(cost, successor, label, label_cycles(successor, label), work)
    assert len(order_of(successor)) == m - 1
    return 10**12 - int(work[0])


@pytest.mark.parametrize("kind", ["random", "tied"])
@pytest.mark.parametrize("n", [511, 1023, 2047])
def test_patching_many_cycles_takes_hardly_more_than_quadratic_time(kind, n):
    """Patching each cycle in turn, the growing one again and again, took n³ if scores are tied."""
    given = problem(n, kind)
    cost = tour_costs(given.start[0].numpy(), given.jump[0].numpy(), given.end[0].numpy())
    assert _steps_of_patching(cost) < (n + 1) ** 2 * np.log(n + 1)


@pytest.mark.parametrize("n", [200, 400, 800])
def test_the_assignment_of_tied_scores_takes_quadratic_time(n):
    """Of equally near columns, one that is taken was looked at before one that is free: n³."""
    given = problem(n, "tied")
    cost = tour_costs(given.start[0].numpy(), given.jump[0].numpy(), given.end[0].numpy())
    columns, rows, u, v, work = np.empty(n + 1, int), np.empty(n + 1, int), *np.empty((2, n + 1)), np.array([10**12])
    assert solve_assignment(cost, columns, rows, u, v, work)
    assert 10**12 - work[0] < 10 * n**2
