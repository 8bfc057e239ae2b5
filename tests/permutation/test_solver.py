"""The solver against SciPy, the textbook algorithm and its own other backend, and the properties of its answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from permparse.permutation import BregmanSolver, JumpProblem, Temperature
from permparse.permutation.textbook import textbook_solve
from permutation.oracles import relaxed_problem_by_scipy

EXACT = BregmanSolver(tolerance=1e-12, max_sweeps=5000)
PLAIN = BregmanSolver(tolerance=1e-12, max_sweeps=20000, memory=0, cooling=False)
TORCH = BregmanSolver(tolerance=1e-12, max_sweeps=5000, backend="torch")


def random_problem(seed, sizes, scale=1.0, position=False, allowed=None):
    generator = torch.Generator().manual_seed(seed)
    batch, n = len(sizes), max(sizes, default=0)

    def scores(*shape):
        return scale * torch.randn(*shape, dtype=torch.float64, generator=generator)

    return JumpProblem(
        scores(batch, n),
        scores(batch, n, n),
        scores(batch, n),
        torch.tensor(sizes, dtype=torch.int64),
        allowed,
        scores(batch, n, n) if position else None,
    )


def allowed_by_types(seed, n, types):
    """Token i may stand at j if its type is the j-th of a shuffled target: what training produces."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(types, (n,), generator=generator)
    return kinds[:, None] == kinds[torch.randperm(n, generator=generator)][None, :]


@pytest.mark.parametrize(("n", "temperature"), [(2, Temperature()), (3, Temperature()), (4, Temperature(1.5, 0))])
@pytest.mark.parametrize("restricted", [False, True])
def test_u_and_w_match_scipy(n, temperature, restricted):
    for seed in range(2):
        allowed = allowed_by_types(seed, n, 2) if restricted else None
        problem = random_problem(seed, [n], allowed=None if allowed is None else allowed[None])
        u, w = relaxed_problem_by_scipy(
            problem.start[0].numpy(),
            problem.jump[0].numpy(),
            problem.end[0].numpy(),
            temperature(n),
            None if allowed is None else allowed.numpy(),
        )
        for solver in (EXACT, PLAIN, TORCH):
            found = BregmanSolver(
                temperature, solver.tolerance, solver.max_sweeps, solver.memory, backend=solver.backend
            )
            solution = found.solve(problem)
            assert bool(solution.converged.all())
            np.testing.assert_allclose(solution.u[0], u, atol=1e-8)
            np.testing.assert_allclose(solution.log_w()[0].exp(), w, atol=1e-8)


@pytest.mark.parametrize(("n", "sweeps"), [(2, 50), (5, 500), (10, 1000), (20, 1000), (40, 600)])
@pytest.mark.parametrize("restricted", [False, True])
def test_u_and_w_match_the_textbook_algorithm(n, sweeps, restricted):
    allowed = allowed_by_types(n, n, max(2, n // 3))[None] if restricted else None
    problem = random_problem(n, [n], scale=0.5, allowed=allowed)
    log_u, log_w = textbook_solve(problem.start, problem.jump, problem.end, Temperature()(n), sweeps, allowed)
    for solver in (EXACT, TORCH):
        solution = solver.solve(problem)
        assert bool(solution.converged.all())
        torch.testing.assert_close(solution.u, log_u.exp(), atol=1e-8, rtol=0)
        torch.testing.assert_close(solution.log_w()[:, :, 1:].exp(), log_w.exp(), atol=1e-8, rtol=0)
        marginals = log_w.exp().sum(2).transpose(1, 2)
        torch.testing.assert_close(solution.jump_marginals, marginals, atol=1e-7, rtol=0)


problems = st.builds(
    random_problem,
    seed=st.integers(0, 2**31),
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    scale=st.sampled_from([0.01, 0.3, 1.0]),
    position=st.booleans(),
)


@settings(max_examples=40)
@given(problems)
def test_u_is_doubly_stochastic_and_w_has_its_marginals(problem):
    solution = BregmanSolver(tolerance=1e-9, max_sweeps=20000).solve(problem)
    assert bool(solution.converged.all())
    inside = problem.token_mask.double()
    torch.testing.assert_close(solution.u.sum(2), inside, atol=1e-7, rtol=0)
    torch.testing.assert_close(solution.u.sum(1), inside, atol=1e-7, rtol=0)
    w = solution.log_w().exp()
    torch.testing.assert_close(w.sum(3)[:, :, 1:], solution.u[:, :, 1:], atol=1e-7, rtol=0)
    out_of = w.sum(1).transpose(1, 2)[:, :, 1:]
    for b, n in enumerate(problem.sizes()):
        before = solution.u[b, :, : max(n - 1, 0)]
        torch.testing.assert_close(out_of[b, :, : max(n - 1, 0)], before, atol=1e-7, rtol=0)
    torch.testing.assert_close(w.sum(2).transpose(1, 2), solution.jump_marginals, atol=1e-7, rtol=0)


@settings(max_examples=15)
@given(problems)
def test_both_backends_give_the_same_answer(problem):
    ours = BregmanSolver(tolerance=1e-10, max_sweeps=5000).solve(problem)
    theirs = BregmanSolver(tolerance=1e-10, max_sweeps=5000, backend="torch").solve(problem)
    torch.testing.assert_close(ours.u, theirs.u, atol=1e-8, rtol=0)
    torch.testing.assert_close(ours.jump_marginals, theirs.jump_marginals, atol=1e-8, rtol=0)
    torch.testing.assert_close(ours.value, theirs.value, atol=1e-7, rtol=1e-9)


@settings(max_examples=40)
@given(problems)
def test_padding_equals_slicing(problem):
    whole = EXACT.solve(problem)
    for b, n in enumerate(problem.sizes()):
        alone = JumpProblem(
            problem.start[b : b + 1, :n],
            problem.jump[b : b + 1, :n, :n],
            problem.end[b : b + 1, :n],
            position=None if problem.position is None else problem.position[b : b + 1, :n, :n],
        )
        solution = EXACT.solve(alone)
        assert torch.equal(solution.u[0], whole.u[b, :n, :n])
        assert torch.equal(solution.value[0], whole.value[b])
        assert bool((whole.log_u[b, n:] == -torch.inf).all())
        assert bool((whole.jump_marginals[b, n:] == 0).all())


@settings(max_examples=30)
@given(problems, st.randoms(use_true_random=False))
def test_relabelling_tokens_relabels_the_answer(problem, random):
    b, n = 0, problem.sizes()[0]
    names = torch.tensor(random.sample(range(n), n), dtype=torch.int64)
    original = JumpProblem(problem.start[:1, :n], problem.jump[:1, :n, :n], problem.end[:1, :n])
    renamed = JumpProblem(original.start[:, names], original.jump[:, names][:, :, names], original.end[:, names])
    torch.testing.assert_close(EXACT.solve(renamed).u[b], EXACT.solve(original).u[b, names], atol=1e-8, rtol=0)


def test_the_order_of_the_batch_and_the_number_of_threads_change_nothing():
    problem = random_problem(0, [7, 3, 9, 1, 5])
    order = torch.tensor([3, 0, 4, 2, 1])
    shuffled = JumpProblem(problem.start[order], problem.jump[order], problem.end[order], problem.lengths[order])
    one = BregmanSolver(threads=1).solve(problem)
    four = BregmanSolver(threads=4).solve(shuffled)
    assert torch.equal(one.log_u[order], four.log_u)
    assert torch.equal(one.sweeps[order], four.sweeps)


def test_the_arguments_are_not_changed():
    problem = random_problem(3, [6, 4])
    before = [t.clone() for t in (problem.start, problem.jump, problem.end)]
    EXACT.solve(problem)
    TORCH.solve(problem)
    for tensor, copy in zip((problem.start, problem.jump, problem.end), before, strict=True):
        assert torch.equal(tensor, copy)


def test_the_value_is_that_of_the_primal_problem():
    n = 8
    problem = random_problem(5, [n])
    solution = EXACT.solve(problem)
    log_w = solution.log_w()
    w = log_w.exp()
    entropy = -(solution.u * solution.log_u).sum() - torch.where(w > 0, w * log_w, 0.0).sum()
    score = (problem.start * solution.u[:, :, 0]).sum() + (problem.end * solution.u[:, :, -1]).sum()
    score = score + (problem.jump * solution.jump_marginals).sum()
    torch.testing.assert_close(solution.value[0], score / Temperature()(n) + entropy, atol=1e-8, rtol=0)


def test_one_token_and_none():
    solution = EXACT.solve(random_problem(0, [1, 0]))
    assert solution.u[0, 0, 0] == 1
    assert bool(solution.converged.all())
    empty = EXACT.solve(random_problem(0, [0]))
    assert empty.u.shape == (1, 0, 0)
    assert EXACT.solve(random_problem(0, [])).u.shape[0] == 0


def test_equal_scores_give_equal_weights():
    n = 6
    zero = JumpProblem(torch.zeros(1, n).double(), torch.zeros(1, n, n).double(), torch.zeros(1, n).double())
    torch.testing.assert_close(EXACT.solve(zero).u, torch.full((1, n, n), 1 / n).double())


def test_low_temperature_finds_the_best_order():
    problem = random_problem(1, [5], scale=1.0)
    order = [3, 1, 4, 0, 2]
    for k, i in itertools.pairwise(order):
        problem.jump[0, k, i] += 20
    solution = BregmanSolver(Temperature(0.05, 0), max_sweeps=5000).solve(problem)
    assert solution.u[0].argmax(0).tolist() == order


def test_running_out_of_sweeps_is_said():
    solution = BregmanSolver(tolerance=1e-12, max_sweeps=2).solve(random_problem(0, [12]))
    assert not bool(solution.converged.any())
    assert solution.residual[0] > 1e-12
    assert solution.sweeps.tolist() == [2]


def test_float32_in_float32_out():
    problem = random_problem(0, [6])
    single = JumpProblem(problem.start.float(), problem.jump.float(), problem.end.float())
    for backend in ("cpu", "torch"):
        solution = BregmanSolver(tolerance=1e-5, backend=backend).solve(single)
        assert solution.u.dtype == torch.float32
        torch.testing.assert_close(solution.u.double(), EXACT.solve(problem).u, atol=1e-4, rtol=0)
