"""Claims about `decode`: the best order, a valid bound, and the same answer however the problem is written
down.
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from permparse.permutation.decoding import Decoded, decode
from permparse.permutation.decoding.dispatch import solve_small
from permparse.permutation.decoding.instance import instances
from permparse.permutation.problem import JumpProblem
from permutation.oracles_decoding import random_allowed, random_problem, ranked_orders

KINDS = ("random", "planted", "symmetric", "ties", "duplicates")
seeds = st.integers(0, 2**31)


def assert_consistent(problem: JumpProblem, results: list[Decoded]) -> None:
    """The orders are permutations that are allowed, and the scores are theirs."""
    scores = problem.score([r.order for r in results])
    scale = max(1.0, float(problem.jump.abs().max())) * max(1, problem.size)
    for b, (result, n) in enumerate(zip(results, problem.sizes(), strict=True)):
        assert sorted(result.order) == list(range(n))
        assert result.score == pytest.approx(float(scores[b]), abs=1e-9 * scale)
        assert result.bound >= result.score
        assert result.gap == result.bound - result.score
        assert not result.proven_optimal or result.gap == 0
        if problem.allowed is not None:
            assert all(problem.allowed[b, i, j] for j, i in enumerate(result.order))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_exact_and_search_find_the_best_of_all_orders(kind: str, size: int) -> None:
    problem = random_problem(4, size, seed=size, kind=kind)
    for method in ("exact", "search"):
        results = decode(problem, method)
        assert_consistent(problem, results)
        for b, result in enumerate(results):
            best = ranked_orders(problem, b)[0][0]
            assert result.score == pytest.approx(best, abs=1e-9)
            assert result.proven_optimal


@pytest.mark.parametrize("kind", KINDS)
def test_branch_and_bound_agrees_with_dynamic_programming(kind: str) -> None:
    problem = random_problem(20, 12, seed=3, kind=kind)
    by_table = [solve_small(instance) for instance in instances(problem)]
    by_branching = decode(problem, "search", nodes=100_000)
    for table, branched in zip(by_table, by_branching, strict=True):
        assert branched.proven_optimal
        assert branched.score == pytest.approx(table.score, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_the_bound_holds_when_search_is_cut_short(kind: str, nodes: int) -> None:
    problem = random_problem(20, 10, seed=4, kind=kind)
    best = [solve_small(instance) for instance in instances(problem)]
    for short, exact in zip(decode(problem, "search", nodes=nodes, kicks=0), best, strict=True):
        assert short.bound >= exact.score - 1e-9
        assert short.score <= exact.score + 1e-9


@pytest.mark.parametrize("kind", ["random", "planted"])
def test_fifty_tokens_are_proven_optimal(kind: str) -> None:
    results = decode(random_problem(10, 50, seed=5, kind=kind))
    assert all(r.proven_optimal for r in results)


def test_local_search_improves_what_it_is_given() -> None:
    problem = random_problem(5, 40, seed=6, kind="symmetric")
    initial = [list(range(40))] * 5
    given = problem.score(initial)
    for result, before in zip(decode(problem, initial=initial, nodes=0), given, strict=True):
        assert result.score > before


def test_kicks_never_hurt() -> None:
    problem = random_problem(5, 40, seed=7, kind="symmetric")
    without = decode(problem, nodes=0, kicks=0)
    with_kicks = decode(problem, nodes=0, kicks=200)
    assert all(a.score >= b.score for a, b in zip(with_kicks, without, strict=True))
    assert any(a.score > b.score for a, b in zip(with_kicks, without, strict=True))


def test_a_planted_order_is_found() -> None:
    problem = random_problem(3, 30, seed=8)
    jump = problem.jump.clone()
    orders = [torch.randperm(30, generator=torch.Generator().manual_seed(b)).tolist() for b in range(3)]
    for b, order in enumerate(orders):
        jump[b, order[:-1], order[1:]] += 50
    assert [r.order for r in decode(JumpProblem(problem.start, jump, problem.end))] == orders


@given(seeds, st.integers(1, 14), st.sampled_from(KINDS))
@settings(max_examples=40)
def test_relabelling_tokens_relabels_the_order(seed: int, size: int, kind: str) -> None:
    problem = random_problem(1, size, seed, kind=kind)
    new = torch.randperm(size, generator=torch.Generator().manual_seed(seed + 1))
    relabelled = JumpProblem(problem.start[:, new], problem.jump[:, new][:, :, new], problem.end[:, new])
    original, changed = decode(problem)[0], decode(relabelled)[0]
    if original.proven_optimal and changed.proven_optimal:
        assert changed.score == pytest.approx(original.score, abs=1e-9)
        if kind in ("random", "planted"):
            assert [int(new[i]) for i in changed.order] == original.order


@given(seeds, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.booleans())
@settings(max_examples=30)
def test_padding_equals_slicing(seed: int, lengths: list[int], position: bool) -> None:
    problem = random_problem(len(lengths), 9, seed, lengths=lengths, position=position)
    jump = problem.jump.clone()
    for b, n in enumerate(lengths):
        jump[b, n:], jump[b, :, n:] = float("nan"), float("inf")
    padded = JumpProblem(problem.start, jump, problem.end, problem.lengths, position=problem.position)
    for b, (n, result) in enumerate(zip(lengths, decode(padded), strict=True)):
        alone = JumpProblem(
            problem.start[b : b + 1, :n],
            problem.jump[b : b + 1, :n, :n],
            problem.end[b : b + 1, :n],
            position=None if problem.position is None else problem.position[b : b + 1, :n, :n],
        )
        assert decode(alone) == [result]


@pytest.mark.parametrize("method", ["search", "exact"])
def test_the_result_is_the_same_every_time_and_for_any_number_of_threads(method: str) -> None:
    problem = random_problem(6, 24, seed=9, kind="symmetric")
    once = decode(problem, method, threads=1, nodes=500)  # type: ignore[arg-type]
    assert decode(problem, method, threads=3, nodes=500) == once  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("kind", KINDS)
def test_scale_does_not_change_the_answer(scale: float, kind: str) -> None:
    unit = decode(random_problem(5, 20, seed=10, kind=kind), nodes=20_000)
    scaled = decode(random_problem(5, 20, seed=10, kind=kind, scale=scale), nodes=20_000)
    for a, b in zip(unit, scaled, strict=True):
        assert b.proven_optimal == a.proven_optimal
        assert b.score == pytest.approx(a.score * scale, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_any_dtype(dtype: torch.dtype) -> None:
    problem = random_problem(2, 6, seed=11, dtype=dtype)
    for b, result in enumerate(decode(problem)):
        assert result.proven_optimal
        assert result.score == pytest.approx(ranked_orders(problem, b)[0][0], abs=1e-9)


def test_all_scores_equal_is_solved_at_once() -> None:
    ones = torch.ones(1, 30)
    result = decode(JumpProblem(ones, torch.ones(1, 30, 30), ones))[0]
    assert result.proven_optimal
    assert result.score == pytest.approx(31)


@pytest.mark.parametrize("method", ["search", "exact", "prove"])
def test_no_token_and_no_example(method: str) -> None:
    nothing = JumpProblem(torch.zeros(2, 0), torch.zeros(2, 0, 0), torch.zeros(2, 0))
    assert decode(nothing, method) == [Decoded([], 0.0, 0.0, True)] * 2  # type: ignore[arg-type]
    assert decode(JumpProblem(torch.zeros(0, 3), torch.zeros(0, 3, 3), torch.zeros(0, 3))) == []


@pytest.mark.parametrize("method", ["search", "exact"])
@pytest.mark.parametrize("restricted", [False, True])
def test_position_scores_and_allowed_are_respected(method: str, restricted: bool) -> None:
    problem = random_problem(6, 7, seed=12, position=not restricted)
    if restricted:
        problem = problem.with_allowed(random_allowed(6, 7, types=3, seed=12))
    results = decode(problem, method)  # type: ignore[arg-type]
    assert_consistent(problem, results)
    for b, result in enumerate(results):
        assert result.score == pytest.approx(ranked_orders(problem, b)[0][0], abs=1e-9)


@pytest.mark.parametrize("restricted", [False, True])
def test_search_with_positions_comes_near_the_best_and_its_bound_holds(restricted: bool) -> None:
    problem = random_problem(8, 14, seed=13, position=not restricted)
    if restricted:
        problem = problem.with_allowed(random_allowed(8, 14, types=4, seed=13))
    found, best = decode(problem, "search"), decode(problem, "exact")
    assert_consistent(problem, found)
    for result, exact in zip(found, best, strict=True):
        assert exact.proven_optimal
        assert result.score <= exact.score + 1e-9 <= result.bound + 2e-9
    assert sum(math.isclose(a.score, b.score) for a, b in zip(found, best, strict=True)) >= 6


def test_an_impossible_restriction_names_the_example() -> None:
    allowed = torch.ones(2, 3, 3, dtype=torch.bool)
    allowed[1, :2, 1:] = False
    with pytest.raises(ValueError, match=r"allowed\[1\].*possible order"):
        decode(random_problem(2, 3, seed=14).with_allowed(allowed))


@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named() -> None:
    problem = random_problem(2, 3, seed=15)
    with pytest.raises(ValueError, match="method: expected one of search, hungarian, exact, prove, got 'best'"):
        decode(problem, "best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="log_u: method 'hungarian' rounds a solution"):
        decode(problem, "hungarian")
    with pytest.raises(ValueError, match=r"log_u: expected shape \[2, 3, 3\], got \[2, 3\]"):
        decode(problem, log_u=torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"initial\[1\]: expected a permutation of 0..2, got \[0, 1, 1\]"):
        decode(problem, initial=[[0, 1, 2], [0, 1, 1]])
    with pytest.raises(ValueError, match="initial: expected 2 orders"):
        decode(problem, initial=[[0, 1, 2]])
    with pytest.raises(ValueError, match="example 0: method 'exact' takes position scores and allowed up to 18"):
        decode(random_problem(1, 19, seed=16, position=True), "exact")
    with pytest.raises(ValueError, match="example 0: method 'prove' takes neither position scores"):
        decode(random_problem(1, 5, seed=16, position=True), "prove")
