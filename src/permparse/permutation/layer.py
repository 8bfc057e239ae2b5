"""U* as a layer inside other networks: differentiable by unrolling the sweeps or implicitly at the solution."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from permparse.permutation._batched import solve_plainly
from permparse.permutation._implicit import sensitivity
from permparse.permutation._once import once
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solver import BregmanSolver

GradientStrategy = Literal["implicit", "unrolled"]


class RelaxedPermutation(NamedTuple):
    """The relaxed permutation of every example, and whether to trust it."""

    u: Float[Tensor, "B N N"]
    """Weight of token i at position j."""
    jump_marginals: Float[Tensor, "B N N"]
    """Weight of i directly following k, at [k, i]."""
    converged: Bool[Tensor, " B"]


class _Implicit(torch.autograd.Function):
    """Solve without a graph; in the backward pass, differentiate the optimality conditions."""

    @staticmethod
    def forward(ctx, start, jump, end, position, problem: JumpProblem, solver: BregmanSolver):
        solution = solver.solve(problem)
        ctx.save_for_backward(start, jump, end, position)
        ctx.solution = solution
        ctx.mark_non_differentiable(solution.converged)
        return solution.u, solution.jump_marginals, solution.converged

    @staticmethod
    def backward(ctx, *upstream):
        grad_u, grad_marginals, _ = upstream
        with torch.no_grad():
            start, jump, end, position = sensitivity(ctx.solution, grad_u, grad_marginals)
        gradients = (start, jump, end, position if ctx.needs_input_grad[3] else None)
        return *once(ctx.saved_tensors, gradients), None, None


def relaxed_permutation(
    problem: JumpProblem, solver: BregmanSolver | None = None, gradient: GradientStrategy = "implicit"
) -> RelaxedPermutation:
    """The solution of the relaxed problem (see `BregmanSolver`), differentiable in the scores.

    ``gradient="implicit"``: exact at convergence; the forward pass keeps nothing, the backward pass solves one linear
    system per example in O(n²) memory. ``"unrolled"``: automatic differentiation through the sweeps that were made,
    as the paper describes it; O(n²) memory for each sweep. For training towards known orders use `permutation_loss`
    instead. Scores in half precision are solved and returned in float32. Only "unrolled" can be differentiated twice.
    """
    solver = solver or BregmanSolver()
    problem = problem.widened()
    if gradient == "implicit":
        inputs = (problem.start, problem.jump, problem.end, problem.position)
        return RelaxedPermutation(*_Implicit.apply(*inputs, problem, solver))
    if gradient == "unrolled":
        solution = solve_plainly(problem, solver.temperatures(problem), solver.tolerance, solver.max_sweeps)
        return RelaxedPermutation(solution.u, solution.jump_marginals, solution.converged)
    raise ValueError(f"gradient: expected implicit or unrolled, got {gradient!r}")


class JumpPermutation(nn.Module):
    """`relaxed_permutation` as a module without weights: scores in, a doubly stochastic matrix out."""

    def __init__(self, solver: BregmanSolver | None = None, gradient: GradientStrategy = "implicit") -> None:
        super().__init__()
        self.solver = solver or BregmanSolver()
        self.gradient: GradientStrategy = gradient

    def forward(self, problem: JumpProblem) -> RelaxedPermutation:
        return relaxed_permutation(problem, self.solver, self.gradient)

    def extra_repr(self) -> str:
        return f"solver={self.solver}, gradient={self.gradient!r}"
