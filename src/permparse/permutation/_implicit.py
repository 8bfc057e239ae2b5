"""How the solution moves when the scores move: implicit differentiation of the optimality conditions.

The optimal value F(s) is convex with gradient (U*, Σ_j W*) / τ, so the Jacobian of the solution is a symmetric Hessian
and the vector-Jacobian product is a directional derivative. It follows from one linear system in the dual variables
(λ, μ for the two families of W sums, r for rows, c for columns), which is positive semidefinite and solved by
conjugate gradients. Arrays are position-major, [B, j, i]. O(n³) memory for W, O(n³) time per iteration."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from permparse.permutation.solution import Solution

RELATIVE_TOLERANCE = 1e-12
MAX_ITERATIONS = 2000


@dataclass(frozen=True)
class _Duals:
    """A direction in the dual space. *Shapes:* into, out_of [B, j, i] (row j: positions j-1, j); row [B, i]; column
    [B, j]."""

    into: Tensor
    out_of: Tensor
    row: Tensor
    column: Tensor

    def plus(self, other: _Duals, scale: Tensor) -> _Duals:
        s, t = scale[:, None, None], scale[:, None]
        return _Duals(
            self.into + s * other.into,
            self.out_of + s * other.out_of,
            self.row + t * other.row,
            self.column + t * other.column,
        )

    def dot(self, other: _Duals) -> Tensor:
        pairs = (self.into * other.into).sum((1, 2)) + (self.out_of * other.out_of).sum((1, 2))
        return pairs + (self.row * other.row).sum(1) + (self.column * other.column).sum(1)

    def divided_by(self, diagonal: _Duals) -> _Duals:
        def divide(x: Tensor, y: Tensor) -> Tensor:
            return torch.where(y > 0, x / torch.where(y > 0, y, 1.0), 0.0)

        return _Duals(
            divide(self.into, diagonal.into),
            divide(self.out_of, diagonal.out_of),
            divide(self.row, diagonal.row),
            divide(self.column, diagonal.column),
        )


def _shift_down(x: Tensor) -> Tensor:
    """Row j of the result is row j-1 of x; row 0 is zero."""
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)


def _shift_up(x: Tensor) -> Tensor:
    """Row j of the result is row j+1 of x; the last row is zero."""
    return torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], 1)


def _log_u_change(d: _Duals) -> Tensor:
    """d log U = d r + d c - d λ_ij - d μ_i,j+1."""
    return d.row[:, None, :] + d.column[:, :, None] - d.into - _shift_up(d.out_of)


def _conditions(u: Tensor, log_u_change: Tensor, w_change_into: Tensor, w_change_out: Tensor) -> _Duals:
    """The change of every constraint's violation, given d log U and the changes of Σ_k W [B, j, i] and Σ_i W [B, j,
    k]."""
    change = u * log_u_change
    return _Duals(w_change_into - change, w_change_out - _shift_down(change), change.sum(1), change.sum(2))


def _hessian(u: Tensor, w: Tensor, has_previous: Tensor, d: _Duals) -> _Duals:
    into = (u * d.into + torch.einsum("bjki,bjk->bji", w, d.out_of)) * has_previous
    out_of = _shift_down(u) * d.out_of + torch.einsum("bjki,bji->bjk", w, d.into)
    result = _conditions(u, _log_u_change(d), into, out_of * has_previous)
    return _Duals(result.into * has_previous, result.out_of * has_previous, result.row, result.column)


def _conjugate_gradients(u: Tensor, w: Tensor, has_previous: Tensor, right: _Duals) -> _Duals:
    before = _shift_down(u) * has_previous
    diagonal = _Duals(2 * u * has_previous, 2 * before, u.sum(1), u.sum(2))
    zero = torch.zeros_like(right.row[:, 0] if right.row.shape[1] else right.row.sum(1))
    x = right.plus(right, zero - 1)
    residual, direction = right, right.divided_by(diagonal)
    preconditioned = direction
    energy = residual.dot(preconditioned)
    goal = energy * RELATIVE_TOLERANCE**2
    for _ in range(MAX_ITERATIONS):
        active = energy > goal
        if not bool(active.any()):
            break
        image = _hessian(u, w, has_previous, direction)
        curvature = direction.dot(image)
        usable = active & (curvature > 0)
        if not bool(usable.any()):
            break
        step = torch.where(usable, energy / torch.where(usable, curvature, 1.0), zero)
        x = x.plus(direction, step)
        residual = residual.plus(image, -step)
        preconditioned = residual.divided_by(diagonal)
        renewed = residual.dot(preconditioned)
        ratio = torch.where(usable, renewed / torch.where(usable, energy, 1.0), zero)
        direction = preconditioned.plus(direction, ratio)
        energy = torch.where(usable, renewed, zero)
    return x


def sensitivity(solution: Solution, grad_u: Tensor, grad_marginals: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of start [B, i], jump [B, k, i], end [B, i] and position [B, i, j] from those of U and Σ_j W."""
    problem, dtype = solution.problem, grad_u.dtype
    u = solution.u.double().transpose(1, 2)
    w = solution.log_w().double().exp().permute(0, 2, 3, 1)  # [B, j, k, i]
    v = torch.where(u > 0, grad_u.double().transpose(1, 2), 0.0)
    v_jump = torch.where(solution.jump_marginals > 0, grad_marginals, 0.0).double()
    has_previous = (w.sum((2, 3)) > 0).double()[:, :, None]

    weighted = w * v_jump[:, None, :, :]
    right = _conditions(u, v, weighted.sum(2), weighted.sum(3))
    right = _Duals(-right.into * has_previous, -right.out_of * has_previous, -right.row, -right.column)
    d = _conjugate_gradients(u, w, has_previous, right)

    u_change = (u * (v + _log_u_change(d))).transpose(1, 2)
    log_w_change = v_jump[:, None, :, :] + d.into[:, :, None, :] + d.out_of[:, :, :, None]
    jump_change = (w * log_w_change).sum(1)
    tau = solution.temperature.double()[:, None, None]
    cells, jump = (u_change / tau).to(dtype), (jump_change / tau).to(dtype)
    start, end = problem.first_and_last(cells)
    return start, jump, end, cells
