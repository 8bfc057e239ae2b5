"""The training loss of the permutation model (equation 9 of the paper) in closed form, as a Fenchel-Young loss."""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from permparse.permutation._once import once
from permparse.permutation.problem import JumpProblem, Numbers
from permparse.permutation.solution import Solution
from permparse.permutation.solver import BregmanSolver


class UnconvergedWarning(UserWarning):
    """A loss was computed from a solve that did not converge."""


class CheckedLoss(NamedTuple):
    """The loss of every example, and whether to trust it."""

    value: Float[Tensor, " B"]
    """≥ 0, differentiable in the scores; 0 without gradient where no permutation is allowed."""
    converged: Bool[Tensor, " B"]
    """Both solves converged; otherwise value and gradient are approximate."""
    feasible: Bool[Tensor, " B"]
    """Some permutation is allowed."""


class _FenchelYoung(torch.autograd.Function):
    """value(s) - value(s, allowed), with the gradient (U - Û) / τ and Σ_j (W - Ŵ)_j / τ."""

    @staticmethod
    def forward(ctx, start, jump, end, position, free: Solution, bound: Solution, used: Tensor):
        def difference(x: Tensor, y: Tensor) -> Tensor:
            return torch.where(used[:, None, None], x - y, 0.0) / free.temperature[:, None, None]

        cells = difference(free.u, bound.u)
        moves = difference(free.jump_marginals, bound.jump_marginals)
        ctx.save_for_backward(start, jump, end, position, cells, moves)
        ctx.problem = free.problem
        # Both values are upper bounds until the sweeps converge, so that only their difference can become negative.
        return torch.where(used, free.value - bound.value, 0.0).clamp(min=0.0).to(jump.dtype)

    @staticmethod
    def backward(ctx, upstream):
        *scores, cells, moves = ctx.saved_tensors
        with torch.no_grad():
            cells, jump = ((upstream[:, None, None] * x).to(scores[1].dtype) for x in (cells, moves))
            start, end = ctx.problem.first_and_last(cells)
        gradients = (start, jump, end, cells if ctx.needs_input_grad[3] else None)
        return *once(tuple(scores), gradients), None, None, None


def checked_permutation_loss(
    problem: JumpProblem, allowed: Numbers, solver: BregmanSolver | None = None
) -> CheckedLoss:
    """KL(Û‖U*) + KL(Ŵ‖W*): how far the relaxed permutation U*, W* is from the nearest one inside ``allowed``.

    Since both lie in the same affine set this equals the difference of two optimal values, so its gradient is exact at
    convergence and needs no backward pass through the sweeps: two solves, O(n²) memory. The loss is ≥ 0, convex in the
    scores, and 0 where U* already lies inside ``allowed``. Computed in float64, returned in the dtype of the scores
    (float32 for half precision). It can be differentiated once, not twice.

    ``allowed`` [B, N, N]: token i may stand at position j.
    """
    solver = solver or BregmanSolver()
    problem = problem.widened()
    double = problem.detach().to(torch.float64)
    free = solver.solve(double)
    bound = solver.solve(double.restricted_to(allowed))
    feasible = free.feasible & bound.feasible
    value = _FenchelYoung.apply(problem.start, problem.jump, problem.end, problem.position, free, bound, feasible)
    return CheckedLoss(value, free.converged & bound.converged, feasible)


def permutation_loss(
    problem: JumpProblem,
    allowed: Numbers,
    solver: BregmanSolver | None = None,
    infeasible: Literal["raise", "skip"] = "raise",
) -> Float[Tensor, " B"]:
    """The value of `checked_permutation_loss`, for those who do not want to check.

    An example for which no permutation is allowed is an error, or contributes neither loss nor gradient with
    ``infeasible="skip"``. Solves that do not converge give an `UnconvergedWarning`, which Python shows once.
    """
    value, converged, feasible = checked_permutation_loss(problem, allowed, solver)
    if infeasible == "raise" and not bool(feasible.all()):
        examples = (~feasible).nonzero().flatten().tolist()
        raise ValueError(
            f"allowed: no permutation is possible in examples {examples}: each token needs a position of its own; "
            'pass infeasible="skip" to leave such examples out'
        )
    if not bool((converged | ~feasible).all()):
        warnings.warn(
            "the solver did not converge in every example, so the loss and its gradient are approximate; "
            "raise max_sweeps or tolerance, or ask checked_permutation_loss which examples they are",
            UnconvergedWarning,
            stacklevel=2,
        )
    return value
