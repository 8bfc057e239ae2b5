"""Gradients three ways: closed form, implicit and unrolled, against finite differences and each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from permparse.permutation import (
    BregmanSolver,
    JumpPermutation,
    JumpProblem,
    Temperature,
    UnconvergedWarning,
    _implicit,
    checked_permutation_loss,
    permutation_loss,
    relaxed_permutation,
)
from permparse.permutation.textbook import textbook_solve
from permutation.test_extremes import random_extreme_problem

EXACT = BregmanSolver(tolerance=1e-13, max_sweeps=3000)
LENGTHS = torch.tensor([4, 3, 2, 1, 0])


def leaves(seed=0, n=4):
    generator = torch.Generator().manual_seed(seed)
    batch = len(LENGTHS)
    shapes = ((batch, n), (batch, n, n), (batch, n), (batch, n, n))
    return [torch.randn(*s, dtype=torch.float64, generator=generator).requires_grad_() for s in shapes]


def some_allowed():
    """Two tokens of one type and one or two of another, in changing order: masks as training makes them."""
    tokens, targets = (
        torch.tensor([0, 1, 0, 1]),
        torch.tensor([[1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0] * 4, [0] * 4]),
    )
    return tokens[None, :, None] == targets[:, None, :]


def loss(start, jump, end, position):
    return permutation_loss(JumpProblem(start, jump, end, LENGTHS, position=position), some_allowed(), EXACT)


def layer(gradient, allowed):
    solver = EXACT if gradient == "implicit" else BregmanSolver(tolerance=1e-11, max_sweeps=200)

    def outputs(start, jump, end, position):
        problem = JumpProblem(start, jump, end, LENGTHS, allowed, position)
        return relaxed_permutation(problem, solver, gradient)[:2]

    return outputs


@pytest.mark.usefixtures("unchecked")  # thousands of calls of the same shapes
def test_loss_passes_gradcheck():
    assert torch.autograd.gradcheck(loss, leaves(), atol=1e-6)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("gradient", ["implicit", "unrolled"])
@pytest.mark.parametrize("allowed", [None, some_allowed()])
def test_layer_passes_gradcheck(gradient, allowed):
    # Unrolled sweeps are slow, so their Jacobian is checked along random directions only.
    assert torch.autograd.gradcheck(layer(gradient, allowed), leaves(), atol=1e-6, fast_mode=gradient == "unrolled")


@pytest.mark.parametrize("allowed", [None, some_allowed()])
def test_implicit_equals_unrolled(allowed):
    inputs = leaves(3)
    upstream = [torch.randn(len(LENGTHS), 4, 4, dtype=torch.float64) for _ in range(2)]
    implicit = torch.autograd.grad(layer("implicit", allowed)(*inputs), inputs, upstream)
    unrolled = torch.autograd.grad(layer("unrolled", allowed)(*inputs), inputs, upstream)
    for x, y in zip(implicit, unrolled, strict=True):
        torch.testing.assert_close(x, y, atol=1e-9, rtol=0)


def random_leaves(seed, batch, n, scale):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((batch, n), (batch, n, n), (batch, n))
    return [(scale * torch.randn(*s, dtype=torch.float64, generator=generator)).requires_grad_() for s in shapes]


def implicit_gradients(inputs, solver, allowed=None):
    generator = torch.Generator().manual_seed(1)
    found = relaxed_permutation(JumpProblem(*inputs, allowed=allowed), solver)
    upstream = [torch.randn(x.shape, dtype=torch.float64, generator=generator) for x in found[:2]]
    return torch.autograd.grad(found[:2], inputs, upstream)


@pytest.mark.parametrize(("scale", "temperature"), [(1.0, 1.0), (4.0, 1.0), (1.0, 0.1)])
def test_implicit_gradient_is_as_exact_as_the_solution(scale, temperature):
    inputs = random_leaves(20, 2, 20, scale)
    usual = implicit_gradients(inputs, BregmanSolver(Temperature(temperature)))
    exact = implicit_gradients(inputs, BregmanSolver(Temperature(temperature), tolerance=1e-13, max_sweeps=5000))
    for x, y in zip(usual, exact, strict=True):
        torch.testing.assert_close(x, y, atol=1e-4 * float(y.abs().max()), rtol=0)


def test_implicit_gradient_is_finite_for_any_finite_scores():
    rng = np.random.default_rng(7)
    for _ in range(80):
        problem = random_extreme_problem(rng, largest=12)
        inputs = [x.requires_grad_() for x in (problem.start, problem.jump, problem.end)]
        gradients = implicit_gradients(inputs, BregmanSolver(max_sweeps=100), problem.allowed)
        largest = max(float(g.abs().max()) for g in gradients)
        assert largest < 100 / Temperature()(problem.size)  # NaN is not less


def test_implicit_gradient_does_not_depend_on_how_w_is_stored(monkeypatch):
    inputs = random_leaves(0, 2, 9, 2.0)
    factorised = implicit_gradients(inputs, EXACT)
    monkeypatch.setattr(_implicit, "LARGEST_LOG", 0.0)
    for x, y in zip(factorised, implicit_gradients(inputs, EXACT), strict=True):
        torch.testing.assert_close(x, y, atol=1e-10, rtol=0)


def kl_by_the_textbook(start, jump, end, allowed, sweeps):
    """KL(Û‖U) + KL(Ŵ‖W) with automatic differentiation through every sweep, as the paper trains."""
    temperature = Temperature()(start.shape[1])
    log_u, log_w = textbook_solve(start, jump, end, temperature, sweeps)
    bound_u, bound_w = textbook_solve(start, jump, end, temperature, sweeps, allowed)

    def divergence(p, q):
        return torch.where(p > -torch.inf, p.exp() * (p - q.where(p > -torch.inf, 0.0)), 0.0).nan_to_num().sum()

    return divergence(bound_u.detach(), log_u) + divergence(bound_w.detach(), log_w)


def test_loss_is_the_papers_divergence_and_so_is_its_gradient():
    n = 6
    generator = torch.Generator().manual_seed(4)
    inputs = [
        torch.randn(*s, dtype=torch.float64, generator=generator).requires_grad_() for s in ((1, n), (1, n, n), (1, n))
    ]
    kinds = torch.tensor([0, 0, 1, 1, 1, 2])
    allowed = (kinds[:, None] == kinds[torch.randperm(n, generator=generator)])[None]
    reference = kl_by_the_textbook(*inputs, allowed, 600)
    ours = permutation_loss(JumpProblem(*inputs), allowed, EXACT).sum()
    torch.testing.assert_close(ours, reference, atol=1e-8, rtol=0)
    # The divergence with the posterior held fixed has the Fenchel-Young gradient, because W and U keep their marginals.
    for x, y in zip(torch.autograd.grad(ours, inputs), torch.autograd.grad(reference, inputs), strict=True):
        off_diagonal = x if x.dim() == 2 else x * (1 - torch.eye(n))
        torch.testing.assert_close(off_diagonal, y, atol=1e-7, rtol=0)


def test_loss_is_zero_where_everything_is_allowed():
    inputs = leaves()
    everything = torch.ones(len(LENGTHS), 4, 4, dtype=torch.bool)
    value = permutation_loss(JumpProblem(*inputs[:3], LENGTHS), everything, EXACT)
    torch.testing.assert_close(value, torch.zeros_like(value), atol=1e-10, rtol=0)


def test_loss_falls_along_its_gradient_until_the_order_is_learnt():
    n = 6
    jump = torch.zeros(1, n, n, requires_grad=True)
    start, end = torch.zeros(1, n, requires_grad=True), torch.zeros(1, n, requires_grad=True)
    order = [2, 5, 0, 3, 1, 4]
    allowed = torch.zeros(1, n, n, dtype=torch.bool)
    allowed[0, order, range(n)] = True
    optimizer = torch.optim.SGD([start, jump, end], lr=1.0)
    values = []
    for _ in range(60):
        optimizer.zero_grad()
        value = permutation_loss(JumpProblem(start, jump, end), allowed).sum()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < 0.5 < values[0]
    assert BregmanSolver().solve(JumpProblem(start, jump, end)).u[0].argmax(0).tolist() == order


def test_infeasible_examples_are_named_or_skipped():
    inputs = [x[:2].detach().requires_grad_() for x in leaves()[:3]]
    allowed = torch.ones(2, 4, 4, dtype=torch.bool)
    allowed[1, 0] = False
    problem = JumpProblem(*inputs)
    with pytest.raises(ValueError, match=r"no permutation is possible in examples \[1\]"):
        permutation_loss(problem, allowed)
    value = permutation_loss(problem, allowed, infeasible="skip")
    value.sum().backward()
    assert value[1] == 0
    assert bool((inputs[1].grad[1] == 0).all())


@pytest.mark.usefixtures("unchecked")
def test_module_says_its_settings_and_knows_its_strategies():
    module = JumpPermutation(gradient="unrolled")
    assert "unrolled" in repr(module)
    problem = JumpProblem(*(x.detach() for x in leaves()[:3]), LENGTHS)
    assert bool(module(problem).converged.all())
    with pytest.raises(ValueError, match="expected implicit or unrolled"):
        relaxed_permutation(problem, gradient="magic")


def test_a_loss_that_did_not_converge_says_so():
    problem, few = JumpProblem(*leaves()[:3], LENGTHS), BregmanSolver(tolerance=1e-12, max_sweeps=2)
    checked = checked_permutation_loss(problem, some_allowed(), few)
    assert not bool(checked.converged[0])
    assert bool(checked.converged[-2:].all())
    assert bool((checked.value >= 0).all())
    with pytest.warns(UnconvergedWarning, match="approximate"):
        permutation_loss(problem, some_allowed(), few)


@pytest.mark.parametrize("differentiable", [loss, layer("implicit", None)])
def test_second_derivatives_are_refused(differentiable):
    inputs = leaves()
    outputs = differentiable(*inputs)
    total = outputs.sum() if isinstance(outputs, torch.Tensor) else outputs[0].sum()
    first = torch.autograd.grad(total, inputs[1], create_graph=True)[0]
    with pytest.raises(RuntimeError, match=r"second derivatives .* are not implemented"):
        torch.autograd.grad(first.square().sum() + inputs[1].sum(), inputs[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("backend", ["cpu", "torch"])
def test_half_precision_is_computed_in_single_precision(dtype, backend):
    narrow = [x.detach().to(dtype).requires_grad_() for x in leaves()]
    wide = [x.detach().float().requires_grad_() for x in narrow]
    solver = BregmanSolver(tolerance=1e-5, backend=backend)

    def everything(start, jump, end, position):
        problem = JumpProblem(start, jump, end, LENGTHS, position=position)
        parts = [permutation_loss(problem, some_allowed(), solver).sum(), solver.solve(problem).value.sum()]
        parts += [relaxed_permutation(problem, solver, g).u.square().sum() for g in ("implicit", "unrolled")]
        assert {part.dtype for part in parts} == {torch.float32}
        return sum(parts)

    ours, theirs = everything(*narrow), everything(*wide)
    torch.testing.assert_close(ours, theirs)
    gradients = torch.autograd.grad(ours, narrow)
    assert {g.dtype for g in gradients} == {dtype}
    for x, y in zip(gradients, torch.autograd.grad(theirs, wide), strict=True):
        torch.testing.assert_close(x.float(), y, atol=1e-2, rtol=1e-2)
