"""Any finite scores and any mask: no NaN, no infinity, no hang, and infeasible masks are recognised."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from permparse.permutation import BregmanSolver, JumpProblem, Temperature, checked_permutation_loss
from permparse.permutation._support import total_support


def random_extreme_problem(rng, largest=60):
    """n from 1 to ``largest``, scale from 1e-3 to 1e5; ties, repeated rows, constant scores; masks of every kind."""
    n = int(rng.integers(1, largest + 1))
    scale = 10 ** rng.uniform(-3, 5)
    jump = rng.normal(size=(n, n)) * scale
    shape = rng.integers(4)
    if shape == 1:
        jump = np.round(jump / scale) * scale
    elif shape == 2:
        jump[rng.integers(n)] = jump[rng.integers(n)]
        jump[:, rng.integers(n)] = jump[:, rng.integers(n)]
    elif shape == 3:
        jump[:] = scale
    mask = rng.integers(4)
    allowed = None
    if mask == 1:
        allowed = rng.random((n, n)) < rng.uniform(0.02, 1)
    elif mask == 2:
        kinds = rng.integers(0, max(1, n // 2), n)
        allowed = kinds[:, None] == rng.permutation(kinds)[None]
    elif mask == 3:
        allowed = rng.random((n, n)) < rng.uniform(0, 0.3)
        allowed[np.arange(n), rng.permutation(n)] = True
    return JumpProblem(
        torch.from_numpy(rng.normal(size=(1, n)) * scale),
        torch.from_numpy(jump)[None],
        torch.from_numpy(rng.normal(size=(1, n)) * scale),
        allowed=None if allowed is None else torch.from_numpy(allowed)[None],
    )


def is_feasible(allowed):
    return bool((maximum_bipartite_matching(csr_matrix(allowed)) >= 0).all()) if allowed.any() else False


def check(problem, solution):
    """Raise if an answer is not a number, wrongly called feasible, or called converged without being a permutation."""
    n = problem.size
    feasible = problem.allowed is None or is_feasible(problem.allowed[0].numpy())
    assert bool(solution.feasible[0]) == feasible
    assert not bool(solution.log_u.isnan().any() | (solution.log_u == torch.inf).any())
    assert bool(solution.jump_marginals.isfinite().all())
    if not feasible:
        assert not bool(solution.converged[0])
        assert bool((solution.u == 0).all())
        return
    assert bool(solution.value.isfinite().all() & solution.residual.isfinite().all())
    if bool(solution.converged[0]):
        assert abs(solution.u.sum(1) - 1).max() < 1e-5
        assert abs(solution.u.sum(2) - 1).max() < 1e-5
        assert abs(solution.jump_marginals.sum() - (n - 1)) < 1e-3


def test_random_problems_of_every_kind():
    """PERMPARSE_STRESS=10000 makes this the long run that a release wants; sizes then go up to 60."""
    count = int(os.environ.get("PERMPARSE_STRESS", "150"))
    rng = np.random.default_rng(0)
    solver = BregmanSolver(max_sweeps=300, threads=1)
    for _ in range(count):
        problem = random_extreme_problem(rng, largest=60 if count > 150 else 30)
        check(problem, solver.solve(problem))


def test_random_problems_of_every_kind_in_torch():
    rng = np.random.default_rng(1)
    solver = BregmanSolver(max_sweeps=40, backend="torch")
    for _ in range(60):
        problem = random_extreme_problem(rng, largest=12)
        check(problem, solver.solve(problem))


def sharp_scores(rng, limit, *shape):
    """Scores within ± ``limit``: normal, in whole tens with many ties, or mostly at the limits."""
    scores = rng.normal(size=shape) * limit / 3
    kind = rng.integers(3)
    if kind == 1:
        scores = np.round(scores, -1)
    elif kind == 2:
        scores = 10 * scores
    return torch.from_numpy(scores.clip(-limit, limit))


@pytest.mark.parametrize(("backend", "count", "largest"), [("cpu", 60, 16), ("torch", 8, 9)])
def test_large_scores_at_low_temperatures_converge_or_say_that_they_did_not(backend, count, largest):
    """Every other problem in float32, with temperatures from 1 / (10 log² n) down to 1 / (20 log² n)."""
    rng = np.random.default_rng(3)
    converged = 0
    for index in range(count):
        n, limit = int(rng.integers(2, largest + 1)), rng.uniform(50, 150)
        problem = JumpProblem(*(sharp_scores(rng, limit, 1, *s) for s in ((n,), (n, n), (n,))))
        problem = problem.to(torch.float32) if index % 2 else problem
        temperature = Temperature(1 / rng.uniform(10, 20), 2)
        solution = BregmanSolver(temperature, max_sweeps=3000, backend=backend, threads=1).solve(problem)
        check(problem, solution)
        assert bool((solution.u <= 1 + 1e-6).all() & (solution.sweeps <= 3000).all())
        converged += int(solution.converged)
    assert converged >= 0.9 * count


@settings(max_examples=60)
@given(arrays(np.float64, (4, 4), elements=st.floats(-1e5, 1e5)), st.floats(-1e5, 1e5))
def test_loss_and_gradient_are_finite_for_any_finite_scores(jump, first):
    scores = torch.from_numpy(jump)[None].requires_grad_()
    start = torch.tensor([[first, 0.0, 0.0, -first]], dtype=torch.float64)
    allowed = torch.eye(4, dtype=torch.bool)[None]
    problem = JumpProblem(start, scores, torch.zeros(1, 4).double())
    loss = checked_permutation_loss(problem, allowed, BregmanSolver(max_sweeps=50)).value
    loss.sum().backward()
    assert bool(loss.isfinite().all() & scores.grad.isfinite().all() & (loss >= 0).all())


def test_a_cell_whose_weight_underflows_stays_possible():
    """One score of -1000 at τ = 1 / log 3 leaves float64; orders that need that cell must not be ruled out."""
    no_scores = [torch.zeros(1, *shape, dtype=torch.float64) for shape in ((3,), (3, 3), (3,))]
    masks = [np.array(bits).reshape(3, 3) for bits in itertools.product([False, True], repeat=9)]
    allowed = torch.from_numpy(np.stack([mask for mask in masks if is_feasible(mask)]))
    start, jump, end = (x.expand(len(allowed), *x.shape[1:]) for x in no_scores)
    for cell in ((0, 2), (1, 0), (2, 1)):
        position = torch.zeros_like(jump)
        position[:, cell[0], cell[1]] = -1000
        problem = JumpProblem(start, jump, end, position=position)
        found = BregmanSolver().solve(problem.with_allowed(allowed))
        expected = BregmanSolver(backend="torch", max_sweeps=100).solve(problem.with_allowed(allowed))
        assert found.residual.max() < 2e-3
        torch.testing.assert_close(found.u, expected.u, atol=0.1, rtol=0)
        torch.testing.assert_close(found.value, expected.value, atol=0.1, rtol=0)
        assert bool((checked_permutation_loss(problem, allowed).value >= 0).all())


@pytest.mark.parametrize("temperature", [Temperature(), Temperature(0.1, 2)])
def test_the_log_domain_agrees_with_the_linear_domain(temperature):
    """A mask that forbids nothing but one useless cell sends the problem through the other kernel."""
    rng = np.random.default_rng(2)
    n = 7
    start, jump, end = (torch.from_numpy(rng.normal(size=s)) for s in ((1, n), (1, n, n), (1, n)))
    almost_all = torch.ones(1, n, n, dtype=torch.bool)
    almost_all[0, 0, 0] = False
    start[0, 0] = -60 * temperature(n) * 5
    solver = BregmanSolver(temperature, tolerance=1e-11, max_sweeps=20000)
    free = solver.solve(JumpProblem(start, jump, end))
    bound = solver.solve(JumpProblem(start, jump, end, allowed=almost_all))
    assert bool(free.converged.all() & bound.converged.all())
    torch.testing.assert_close(free.u, bound.u, atol=1e-8, rtol=0)
    torch.testing.assert_close(free.jump_marginals, bound.jump_marginals, atol=1e-8, rtol=0)
    torch.testing.assert_close(free.value, bound.value, atol=1e-8, rtol=0)


@settings(max_examples=200)
@given(arrays(np.bool_, st.integers(1, 5).map(lambda n: (n, n))))
def test_total_support_is_the_union_of_the_allowed_permutations(allowed):
    n = len(allowed)
    expected = np.zeros((n, n), bool)
    for order in itertools.permutations(range(n)):
        if allowed[range(n), order].all():
            expected[range(n), order] = True
    support = np.zeros((n, n), bool)
    assert total_support(np.ascontiguousarray(allowed), support) == expected.any()
    np.testing.assert_array_equal(support, expected)
