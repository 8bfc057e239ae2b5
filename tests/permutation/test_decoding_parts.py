"""Claims about the parts of decoding: assignments, rounding of U*, the k best, proofs by CP-SAT."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from permparse.permutation.decoding import decode, k_best, round_permutation
from permparse.permutation.decoding.assignment import best_assignment
from permparse.permutation.decoding.cp_sat import prove_path
from permparse.permutation.decoding.instance import instances
from permparse.permutation.decoding.positional import apply_move, move_exists, undo_move
from permutation.oracles_decoding import random_allowed, random_problem, ranked_orders


@pytest.mark.parametrize("size", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("integers", [False, True])
def test_assignments_cost_what_scipy_finds(size: int, integers: bool) -> None:
    rng = np.random.default_rng(size)
    for _ in range(10):
        cost = rng.normal(size=(size, size)) * 3
        cost = np.round(cost) if integers else cost
        cost[rng.random((size, size)) < 0.3] = np.inf
        cost[np.arange(size), rng.permutation(size)] = 5.0
        columns = best_assignment(cost)
        assert sorted(columns) == list(range(size))
        rows, best = linear_sum_assignment(cost)
        assert cost[rows, columns].sum() == pytest.approx(cost[rows, best].sum(), abs=1e-9)


def test_an_impossible_assignment_is_empty() -> None:
    cost = np.zeros((3, 3))
    cost[:2, :2] = np.inf
    assert len(best_assignment(cost)) == 0


@pytest.mark.parametrize("size", [1, 2, 6])
def test_rounding_maximises_the_total_log_probability(size: int) -> None:
    log_u = torch.randn(3, size, size, dtype=torch.float64).log_softmax(1)
    for b, order in enumerate(round_permutation(log_u)):
        assert sorted(order) == list(range(size))
        rows, columns = linear_sum_assignment(log_u[b].numpy(), maximize=True)
        total = sum(log_u[b, i, j].item() for j, i in enumerate(order))
        assert total == pytest.approx(log_u[b].numpy()[rows, columns].sum())


def test_rounding_uses_impossible_cells_only_when_it_must() -> None:
    log_u = torch.full((1, 3, 3), -math.inf)
    log_u[0, 0, 1] = -1e30
    log_u[0, 1, 2] = -0.5
    assert round_permutation(log_u) == [[2, 0, 1]]
    assert sorted(round_permutation(torch.full((1, 4, 4), -math.inf))[0]) == [0, 1, 2, 3]


def test_rounding_never_uses_a_cell_that_is_not_allowed() -> None:
    allowed = random_allowed(5, 8, types=3, seed=0)
    orders = round_permutation(torch.randn(5, 8, 8), allowed=allowed)
    assert all(allowed[b, i, j] for b, order in enumerate(orders) for j, i in enumerate(order))
    with pytest.raises(ValueError, match=r"allowed\[0\]"):
        round_permutation(torch.zeros(1, 2, 2), allowed=torch.zeros(1, 2, 2, dtype=torch.bool))


def test_rounding_reads_no_padding_and_refuses_nan() -> None:
    log_u = torch.full((2, 3, 3), math.nan)
    log_u[0, :2, :2] = torch.tensor([[-5.0, 0.0], [0.0, -5.0]])
    assert round_permutation(log_u, torch.tensor([2, 0])) == [[1, 0], []]
    with pytest.raises(ValueError, match=r"log_u\[0\]: expected log-probabilities"):
        round_permutation(log_u)


def test_hungarian_reports_the_score_of_its_order_and_a_valid_bound() -> None:
    problem = random_problem(6, 7, seed=1)
    orders = [torch.randperm(7, generator=torch.Generator().manual_seed(b)).tolist() for b in range(6)]
    log_u = torch.full((6, 7, 7), -20.0)
    for b, order in enumerate(orders):
        log_u[b, order, torch.arange(7)] = 0.0
    results = decode(problem, "hungarian", log_u=log_u)
    assert [r.order for r in results] == orders
    for b, result in enumerate(results):
        assert result.score == pytest.approx(float(problem.score(orders)[b]))
        assert result.bound >= ranked_orders(problem, b)[0][0] - 1e-9


@pytest.mark.parametrize("kind", ["random", "planted", "symmetric", "ties"])
@pytest.mark.parametrize("size", [1, 2, 4, 6])
@pytest.mark.parametrize("position", [False, True])
def test_k_best_are_the_first_of_all_orders(kind: str, size: int, position: bool) -> None:
    problem = random_problem(3, size, seed=2, kind=kind, position=position)
    for b, ranked in enumerate(k_best(problem, 30)):
        expected = ranked_orders(problem, b)[:30]
        assert len({tuple(r.order) for r in ranked}) == len(ranked) == len(expected)
        assert [r.score for r in ranked] == pytest.approx([score for score, _ in expected])
        assert all(r.proven_optimal for r in ranked)


def test_k_best_by_branching_are_the_first_of_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("permparse.permutation.decoding.ranking.QUICK_TABLE", 0)
    for kind in ("random", "planted", "symmetric", "ties"):
        problem = random_problem(4, 6, seed=3, kind=kind)
        for b, ranked in enumerate(k_best(problem, 40)):
            assert [r.score for r in ranked] == pytest.approx([s for s, _ in ranked_orders(problem, b)[:40]])
            assert len({tuple(r.order) for r in ranked}) == 40
            assert all(r.proven_optimal for r in ranked)
    assert len(k_best(random_problem(1, 3, seed=4), 50)[0]) == 6


def test_k_best_respects_allowed() -> None:
    problem = random_problem(3, 6, seed=5).with_allowed(random_allowed(3, 6, types=2, seed=5))
    for b, ranked in enumerate(k_best(problem, 1000)):
        expected = ranked_orders(problem, b)
        assert [r.score for r in ranked] == pytest.approx([score for score, _ in expected])


def test_k_best_of_many_tokens_is_proven_and_starts_with_the_best() -> None:
    problem = random_problem(3, 40, seed=6, kind="planted")
    for ranked, best in zip(k_best(problem, 5), decode(problem), strict=True):
        assert ranked[0].score == pytest.approx(best.score)
        assert all(r.proven_optimal for r in ranked)
        assert [r.score for r in ranked] == sorted((r.score for r in ranked), reverse=True)


@pytest.mark.parametrize("position", [False, True])
def test_k_best_cut_short_still_gives_k_orders_and_valid_bounds(
    position: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(3, 7, seed=7, kind="symmetric", position=position)
    monkeypatch.setattr("permparse.permutation.decoding.ranking.QUICK_TABLE", 0)
    monkeypatch.setattr("permparse.permutation.decoding.ranking.LARGEST_TABLE", 0)
    for b, ranked in enumerate(k_best(problem, 20, nodes=2)):
        expected = ranked_orders(problem, b)[:20]
        assert len({tuple(r.order) for r in ranked}) == 20
        for result, (score, _) in zip(ranked, expected, strict=True):
            assert result.score <= score + 1e-9 <= result.bound + 2e-9
            assert not result.proven_optimal or result.score == pytest.approx(score)


def test_k_must_be_positive() -> None:
    with pytest.raises(ValueError, match="k: expected at least 1, got 0"):
        k_best(random_problem(1, 3, seed=0), 0)


def test_every_move_is_undone() -> None:
    for length in range(2, 8):
        for kind in range(8):
            if move_exists(kind, 1, length):
                order = np.arange(length + 2)
                apply_move(order, kind, 1, length)
                assert sorted(order) == list(range(length + 2))
                assert order[0] == 0
                assert order[-1] == length + 1
                undo_move(order, kind, 1, length)
                assert order.tolist() == list(range(length + 2))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_cp_sat_proves_the_best_of_all_orders(scale: float) -> None:
    pytest.importorskip("ortools")
    problem = random_problem(2, 6, seed=8, scale=scale)
    for b, instance in enumerate(instances(problem)):
        order, bound, precision = prove_path(instance.cost, None, seconds=10)
        best = ranked_orders(problem, b)[0][0]
        assert order is not None
        assert instance.decoded(order, -np.inf).score == pytest.approx(best, abs=precision)
        assert best - 1e-12 * scale <= -bound <= best + 1.01 * precision


def test_prove_closes_the_gap_that_search_leaves() -> None:
    pytest.importorskip("ortools")
    problem = random_problem(1, 16, seed=9, kind="symmetric")
    assert not decode(problem, "search", nodes=0)[0].proven_optimal
    result = decode(problem, "prove", nodes=0, seconds=60.0)[0]
    best = decode(problem, "exact")[0]
    assert result.proven_optimal
    assert result.score == pytest.approx(best.score)
    assert 0 <= result.gap < 1e-6


def test_without_or_tools_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "ortools"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(ImportError, match=r"pip install 'permparse\[prove\]'"):
        prove_path(np.zeros((3, 3)), None, seconds=1)
