"""Newton's method on the dual against a dense Hessian and the duality gap, and both backends at low temperatures."""

from __future__ import annotations

import pytest
import torch

from permparse.permutation import BregmanSolver, JumpProblem, Temperature
from permparse.permutation import _newton as newton
from permparse.permutation._sweeps import (
    Cells,
    next_row,
    previous_row,
    restored,
    scaled_scores,
    start_at_zero,
    sweep,
)
from solver import convergence_problem

LOW = Temperature(0.1, 2)
"""What the authors' code uses at test time."""
STUBBORN = (2, 10)
"""Problems that 3,000 accelerated sweeps do not settle at this temperature."""


def restricted_problem(seed: int, n: int) -> JumpProblem:
    """Random scores and places, half of the cells excluded; the order 0, 1, 2, ... stays possible."""
    generator = torch.Generator().manual_seed(seed)
    start, jump, end, position = (
        torch.randn(1, *shape, dtype=torch.float64, generator=generator) for shape in ((n,), (n, n), (n,), (n, n))
    )
    allowed = (torch.rand(1, n, n, generator=generator) < 0.5) | torch.eye(n, dtype=torch.bool)
    return JumpProblem(start, jump, end, allowed=allowed, position=position)


def sharp_problem(seed: int, n: int, scale: float = 15.0) -> JumpProblem:
    """Normal scores as large as those of a trained scorer: at a low temperature, U spans hundreds of powers of ten."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((n,), (n, n), (n,))
    return JumpProblem(*(scale * torch.randn(1, *s, dtype=torch.float64, generator=generator) for s in shapes))


def primal_value(solution) -> torch.Tensor:
    """The objective over τ of U and W themselves: below the optimum, as the dual value is above."""
    problem, tau = solution.problem, solution.temperature[:, None, None]
    u, log_w = solution.u, solution.log_w()
    score = (problem.jump * solution.jump_marginals).sum((1, 2))
    start, end = problem.first_and_last(u)
    score = score + (problem.start * start).sum(1) + (problem.end * end).sum(1)
    if problem.position is not None:
        score = score + (problem.position * u).sum((1, 2))
    entropy = -torch.where(u > 0, u * solution.log_u, 0.0).sum((1, 2))
    entropy = entropy - torch.where(log_w > -torch.inf, log_w.exp() * log_w, 0.0).sum((1, 2, 3))
    return score / tau[:, 0, 0] + entropy


@pytest.mark.parametrize("problem", [convergence_problem(3), restricted_problem(0, 7)], ids=["free", "restricted"])
def test_a_step_is_that_of_the_dense_hessian(problem):
    problem = problem.at([0], problem.size)
    cells = Cells.of(problem)
    jump, position = scaled_scores(problem, torch.full((1,), 0.5, dtype=torch.float64))
    state = sweep(start_at_zero(position), jump, position, cells)
    gradient, hessian = newton._derivatives(state, jump, cells)
    step = newton._solve(hessian, gradient)

    exists = (
        cells.support & cells.has_previous,
        previous_row(cells.support) & cells.has_previous,
        cells.support.any(1),
    )

    def dual(x):
        alpha, beta, row = (torch.zeros_like(e, dtype=torch.float64) for e in exists)
        sizes = [int(e.sum()) for e in exists]
        for table, mask, part in zip((alpha, beta, row), exists, x.split(sizes), strict=True):
            table[mask] = part
        u = (state.log_u + row[:, None, :] - alpha - next_row(beta)).exp() * cells.support
        log_w = jump[0] + (state.alpha + alpha)[0, 1:, None, :] + (state.beta + beta)[0, 1:, :, None]
        used = cells.support[0, 1:, None, :] & cells.support[0, :-1, :, None]
        return u.sum() + log_w.masked_fill(~used, -torch.inf).exp().sum() - row.sum()

    origin = torch.zeros(sum(int(e.sum()) for e in exists), dtype=torch.float64, requires_grad=True)
    slope = torch.autograd.functional.jacobian(dual, origin)
    curvature = torch.autograd.functional.hessian(dual, origin)
    ours = torch.cat([part[mask] for part, mask in zip(step, exists, strict=True)])
    torch.testing.assert_close(torch.cat([g[mask] for g, mask in zip(gradient, exists, strict=True)]), slope)
    torch.testing.assert_close(curvature @ ours, -slope, atol=1e-9, rtol=0)


@pytest.mark.parametrize("index", STUBBORN)
def test_low_temperatures_converge_to_the_optimum(index):
    solution = BregmanSolver(LOW, max_sweeps=3000, threads=1).solve(convergence_problem(index))
    assert bool(solution.converged)
    assert int(solution.sweeps) > newton.PATIENCE  # otherwise Newton's method had nothing to do
    torch.testing.assert_close(primal_value(solution), solution.value, atol=1e-3, rtol=0)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_sharp_scores_at_low_temperatures_converge_to_the_optimum(seed):
    solution = BregmanSolver(LOW, max_sweeps=3000, threads=1).solve(sharp_problem(seed, 14))
    assert bool(solution.converged)
    assert int(solution.sweeps) > newton.PATIENCE
    torch.testing.assert_close(primal_value(solution), solution.value, atol=0, rtol=1e-6)


def test_sharp_scores_converge_to_what_the_plain_method_finds(monkeypatch):
    # Sweeps alone take about 600 here, a few more or less by how a processor rounds.
    monkeypatch.setattr(newton, "PATIENCE", 200)
    problem = sharp_problem(20, 8)
    found = BregmanSolver(LOW, max_sweeps=3000, threads=1).solve(problem)
    plain = BregmanSolver(LOW, max_sweeps=120_000, memory=0, cooling=False, threads=1).solve(problem)
    assert bool(found.converged & plain.converged)
    assert newton.PATIENCE < int(found.sweeps) <= 3000
    torch.testing.assert_close(found.u, plain.u, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.value, plain.value, atol=1e-5, rtol=0)


@pytest.mark.parametrize("backend", ["cpu", "torch"])
def test_newton_goes_on_from_where_the_sweeps_ended(backend):
    problem = sharp_problem(0, 14)
    solver = BregmanSolver(LOW, backend=backend, threads=1)
    ended, log_row = (solver._solve_on_cpu if backend == "cpu" else solver._solve_in_torch)(problem, [100])
    jump, position = scaled_scores(problem, ended.temperature)
    on = sweep(restored(ended, log_row), jump, position, Cells.of(problem))
    assert on.value <= ended.value + 1e-9 * ended.value.abs()  # which a sweep never raises


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_a_step_is_finite_where_u_leaves_float64(scale):
    problem = sharp_problem(0, 9, scale)
    cells = Cells.of(problem)
    jump, position = scaled_scores(problem, torch.full((1,), 0.02, dtype=torch.float64))
    state = sweep(start_at_zero(position), jump, position, cells)
    assert state.log_u.min() < -1500
    stepped = newton._stepped(state, jump, cells)
    assert all(bool(x.isfinite().all()) for x in stepped)
    assert newton._dual(stepped, jump, cells) <= newton._dual(state, jump, cells)


def test_restricted_problems_converge_to_the_optimum():
    for seed in range(6):
        problem = restricted_problem(seed, 10)
        solution = BregmanSolver(0.01, max_sweeps=3000, threads=1).solve(problem)
        assert bool(solution.converged)
        torch.testing.assert_close(primal_value(solution), solution.value, atol=1e-3, rtol=0)
        assert bool((solution.u[~problem.allowed] == 0).all())


def test_backends_agree_at_low_temperatures():
    problem = convergence_problem(2)
    ours = BregmanSolver(LOW, max_sweeps=3000, threads=1).solve(problem)
    theirs = BregmanSolver(LOW, max_sweeps=3000, backend="torch").solve(problem)
    assert bool(theirs.converged)
    torch.testing.assert_close(ours.u, theirs.u, atol=1e-3, rtol=0)
    torch.testing.assert_close(ours.value, theirs.value, atol=1e-3, rtol=0)


def test_a_batch_in_torch_gives_what_its_examples_give():
    sizes, generator = torch.tensor([0, 1, 5, 9]), torch.Generator().manual_seed(0)
    start, jump, end = (torch.randn(4, *s, dtype=torch.float64, generator=generator) for s in ((9,), (9, 9), (9,)))
    scale = torch.tensor([1.0, 1.0, 1.0, 30.0], dtype=torch.float64)
    problem = JumpProblem(start * scale[:, None], jump * scale[:, None, None], end * scale[:, None], sizes)
    solver = BregmanSolver(0.2, tolerance=1e-8, backend="torch")
    whole = solver.solve(problem)
    assert bool(whole.converged.all())
    for b, n in enumerate(sizes.tolist()):
        alone = solver.solve(problem.at([b], n))
        assert int(alone.sweeps) == int(whole.sweeps[b])
        torch.testing.assert_close(alone.u[0], whole.u[b, :n, :n], atol=1e-6, rtol=0)


def test_acceleration_saves_sweeps_in_torch_as_on_the_cpu():
    problem = convergence_problem(1)
    sweeps = {
        (backend, memory): int(BregmanSolver(memory=memory, backend=backend, threads=1).solve(problem).sweeps)
        for backend in ("cpu", "torch")
        for memory in (0, 8)
    }
    assert 2 * sweeps["torch", 8] < sweeps["torch", 0]
    assert abs(sweeps["torch", 8] - sweeps["cpu", 8]) <= 10
