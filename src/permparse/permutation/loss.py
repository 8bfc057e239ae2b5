"""The training loss of the permutation model (equation 9 of the paper) in closed form, as a Fenchel-Young loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from permparse.permutation.problem import JumpProblem, Numbers
from permparse.permutation.solution import Solution
from permparse.permutation.solver import BregmanSolver


class _FenchelYoung(torch.autograd.Function):
    """value(s) - value(s, allowed), with the gradient (U - Û) / τ and Σ_j (W - Ŵ)_j / τ."""

    @staticmethod
    def forward(ctx, start, jump, end, position, free: Solution, bound: Solution, used: Tensor):
        def difference(x: Tensor, y: Tensor) -> Tensor:
            shape = (-1,) + (1,) * (x.dim() - 1)
            return torch.where(used.reshape(shape), x - y, 0.0) / free.temperature.reshape(shape)

        problem = free.problem
        assert problem.lengths is not None
        cells = difference(free.u, bound.u)  # [B, i, j]
        last = (problem.lengths.to(cells.device) - 1).clamp(min=0)[:, None, None].expand(-1, cells.shape[1], 1)
        size = cells.shape[1]
        ctx.save_for_backward(
            cells[:, :, 0] if size else cells.sum(2),
            difference(free.jump_marginals, bound.jump_marginals),
            cells.gather(2, last).squeeze(2) if size else cells.sum(2),
            cells,
        )
        ctx.dtype, ctx.has_position = jump.dtype, position is not None
        return torch.where(used, free.value - bound.value, 0.0).to(jump.dtype)

    @staticmethod
    def backward(ctx, upstream):
        start, jump, end, position = ctx.saved_tensors

        def chain(gradient: Tensor) -> Tensor:
            scale = upstream.reshape((-1,) + (1,) * (gradient.dim() - 1))
            return (scale * gradient).to(ctx.dtype)

        return (
            chain(start),
            chain(jump),
            chain(end),
            chain(position) if ctx.has_position else None,
            None,
            None,
            None,
        )


def permutation_loss(
    problem: JumpProblem,
    allowed: Numbers,
    solver: BregmanSolver | None = None,
    infeasible: Literal["raise", "skip"] = "raise",
) -> Tensor:
    """KL(Û‖U*) + KL(Ŵ‖W*): how far the relaxed permutation U*, W* is from the nearest one inside ``allowed``.

    Since both lie in the same affine set this equals the difference of two optimal values, so its gradient is exact at
    convergence and needs no backward pass through the sweeps: two solves, O(n²) memory. The loss is ≥ 0, convex in the
    scores, and 0 where U* already lies inside ``allowed``. Values and gradients are computed in float64.

    ``allowed`` [B, N, N]: token i may stand at position j. An example for which no permutation is allowed is an error,
    or contributes neither loss nor gradient with ``infeasible="skip"``. *Shape:* [B].
    """
    solver = solver or BregmanSolver()
    double = _detached_double(problem)
    free = solver.solve(double)
    bound = solver.solve(double.restricted_to(allowed))
    used = free.feasible & bound.feasible
    if infeasible == "raise" and not bool(used.all()):
        examples = (~used).nonzero().flatten().tolist()
        raise ValueError(
            f"allowed: no permutation is possible in examples {examples}: each token needs a position of its own; "
            'pass infeasible="skip" to leave such examples out'
        )
    return _FenchelYoung.apply(problem.start, problem.jump, problem.end, problem.position, free, bound, used)


def _detached_double(problem: JumpProblem) -> JumpProblem:
    position = None if problem.position is None else problem.position.detach().double()
    return replace(
        problem,
        start=problem.start.detach().double(),
        jump=problem.jump.detach().double(),
        end=problem.end.detach().double(),
        position=position,
    )
