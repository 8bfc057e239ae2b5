"""Newton's method on the dual of the relaxed problem, for solutions that sweeps approach too slowly.

The dual in α, β and the row scales r (the column scales are redundant, and stay as they are) is

    minimise  Σ U + Σ W - Σ r   with   U_ij ∝ exp(r_i - α_ij - β_i,j+1),   W_ijk = exp(jump[k, i] + α_ij + β_kj).

α_j meets β_j through W_j and β_j+1 through U_j, so the Hessian is a chain over positions with the n row scales as its
border: a block Cholesky factorisation takes O(n⁴) time, about that of 2n sweeps, and O(n³) memory. Variables are scaled
so that its diagonal is 1: nothing is divided by a small U. Arrays are position-major, [B, j, i], as in `_sweeps.py`.

A step that would raise the dual value is not taken, and a sweep never raises it: the last iterate is the best one."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from permparse.permutation._batched import Found, as_solution
from permparse.permutation._sweeps import (
    Cells,
    State,
    chosen,
    log_matmul,
    next_row,
    previous_row,
    residual,
    restored,
    scaled_scores,
    sweep,
)
from permparse.permutation.solution import Solution

LARGEST = 160
"""Tokens up to which a step is taken: its factors are 24 n³ bytes."""
MEMORY = 256 * 1024**2
"""Bytes that the factors of examples solved together may take."""
PATIENCE, FEWEST_STEPS = 600, 4
"""Newton's method begins after so many sweeps, if so many of its steps are left in the budget."""
BACKTRACKS = 40
SUFFICIENT = 1e-4
"""The part of the decrease predicted by the gradient that a step has to achieve."""
SMALLEST_SCALE = 0.4
"""Scales are at least the smallest positive number to this power: cells whose U and W are below its square, too small
to divide by, are left to the sweeps."""
RIDGES = tuple(64 * 100.0**power for power in range(10))
"""What may be added to the diagonal of 1, in units of rounding: from next to nothing to more than the matrix itself."""
ROUNDING = 1e-12
"""A value that is higher by this part of it has not been raised."""


def cost_in_sweeps(n: int) -> int:
    """How many sweeps a step counts as, by its floating-point operations."""
    return 2 * max(n, 1)


def sweeps_before(n: int, max_sweeps: int) -> int:
    """How many sweeps to make before Newton's method takes over; all, if what is left would not pay."""
    worthwhile = n <= LARGEST and max_sweeps - PATIENCE >= FEWEST_STEPS * cost_in_sweeps(n)
    return PATIENCE if worthwhile else max_sweeps


class _Duals(NamedTuple):
    """One number for each dual variable. *Shapes:* alpha, beta [B, j, i]; row [B, i]."""

    alpha: Tensor
    beta: Tensor
    row: Tensor

    def dot(self, other: _Duals) -> Tensor:
        """*Shape:* [B]."""
        return sum(((x * y).flatten(1).sum(1) for x, y in zip(self, other, strict=True)), self.row.new_zeros(()))


class _Hessian(NamedTuple):
    """Second derivatives, divided by the roots of the diagonal: ``scales``, infinite for variables that do not exist.

    ``weights`` [B, j, k, i] is W; ``alpha_beta`` couples α_j with β_j+1 and ``alpha_row`` α_j with r, in row j;
    ``beta_row`` couples β_j with r, in row j. *Shape:* [B, j, i].
    """

    scales: _Duals
    jump: Tensor
    log_alpha: Tensor
    log_beta: Tensor
    alpha_beta: Tensor
    alpha_row: Tensor
    beta_row: Tensor

    def weights(self, j: int) -> Tensor:
        """W_j over the roots of the diagonal. *Shape:* [B, i, k]."""
        log_w = self.jump.transpose(1, 2) + self.log_alpha[:, j, :, None] + self.log_beta[:, j, None, :]
        return log_w.clamp(max=0.0).exp()


def polished(solution: Solution, log_row: Tensor, tolerance: float, max_sweeps: int) -> Solution:
    """Newton steps for the examples that have not converged, as long as their count of sweeps allows.

    ``log_row`` [B, i] belongs to the solution. In float64, whatever its dtype, where the device has that."""
    sizes, swept = solution.problem.sizes(), solution.sweeps.tolist()
    wanting = (solution.feasible & ~solution.converged).tolist()
    budget = [
        (max_sweeps - s - 1) // cost_in_sweeps(n) if n <= LARGEST else 0 for s, n in zip(swept, sizes, strict=True)
    ]
    chosen_ones = [b for b in range(len(sizes)) if wanting[b] and budget[b] > 0]
    # On the CPU one by one, so that the result does not depend on the batch, to the last bit.
    memory = 0 if log_row.device.type == "cpu" else MEMORY
    for group in _groups(sorted(chosen_ones, key=lambda b: sizes[b]), sizes, memory):
        part, row = solution.at(group, max(sizes[b] for b in group)), log_row[group]
        solution = solution.updated(group, _polish(part, row, tolerance, [budget[b] for b in group]))
    return solution


def _groups(examples: list[int], sizes: list[int], memory: int) -> list[list[int]]:
    """Examples in order of size, in groups whose factors take at most ``memory`` bytes, or of one."""
    groups: list[list[int]] = []
    for b in examples:
        if not groups or 24 * sizes[b] ** 3 * (len(groups[-1]) + 1) > memory:
            groups.append([])
        groups[-1].append(b)
    return groups


def _polish(solution: Solution, log_row: Tensor, tolerance: float, budget: list[int]) -> Solution:
    """Newton steps, each followed by a sweep, until every residual is at most ``tolerance``."""
    problem = solution.problem
    wide = problem.jump.dtype if problem.jump.device.type == "mps" else torch.float64
    wider = problem.detach().to(wide)
    cells = Cells.of(wider)
    temperature = solution.temperature.to(wide)
    jump, position = scaled_scores(wider, temperature)
    state = sweep(restored(solution, log_row[:, : problem.size].to(wide)), jump, position, cells)
    steps = torch.zeros_like(solution.sweeps)
    limit = torch.tensor(budget, device=steps.device)
    found = residual(state, jump, cells)
    for _ in range(max(budget)):
        active = (found > tolerance) & (steps < limit)
        if not bool(active.any()):
            break
        image = sweep(_stepped(state, jump, cells), jump, position, cells)
        lower = image.value <= state.value + ROUNDING * state.value.abs()
        if not bool(lower.all()):
            image = chosen(lower, image, sweep(state, jump, position, cells))
        state = chosen(active, image, state)
        found = torch.where(active, residual(state, jump, cells), found)
        steps = steps + active
    sweeps = solution.sweeps + 1 + steps * cost_in_sweeps(1) * problem.lengths
    return as_solution(wider, temperature, jump, cells, Found(state, found, sweeps), tolerance)


def _stepped(state: State, jump: Tensor, cells: Cells) -> State:
    """The state after a Newton step, shortened until the dual value falls as it should; unchanged if it never does."""
    gradient, hessian = _derivatives(state, jump, cells)
    step = _solve(hessian, gradient)
    slope = gradient.dot(step)
    before = _dual(state, jump, cells)
    length = torch.ones_like(slope)
    for _ in range(BACKTRACKS):
        moved = _moved(state, step, length)
        enough = _dual(moved, jump, cells) <= before + SUFFICIENT * length * slope + 1e-13 * before.abs()
        if bool(enough.all()):
            break
        length = torch.where(enough, length, 0.5 * length)
    return chosen(enough, moved, state)


def _moved(state: State, step: _Duals, length: Tensor) -> State:
    long = length[:, None, None]
    return state._replace(
        log_row=state.log_row + length[:, None] * step.row,
        alpha=state.alpha + long * step.alpha,
        beta=state.beta + long * step.beta,
        log_u=state.log_u + long * (step.row[:, None, :] - step.alpha - next_row(step.beta)),
    )


def _dual(state: State, jump: Tensor, cells: Cells) -> Tensor:
    """Σ U + Σ W - Σ r, what a step lowers. *Shape:* [B]."""
    inner = cells.support & cells.has_previous
    into = state.alpha + log_matmul(state.beta, previous_row(cells.support), jump)
    w = into.masked_fill(~inner, -torch.inf).exp().sum((1, 2))
    u = state.log_u.masked_fill(~cells.support, -torch.inf).exp().sum((1, 2))
    return u + w - state.log_row.sum(1)


def _derivatives(state: State, jump: Tensor, cells: Cells) -> tuple[_Duals, _Hessian]:
    later = cells.support & cells.has_previous  # α exists
    earlier = previous_row(cells.support) & cells.has_previous  # β exists, in the row of its α
    log_u = state.log_u.masked_fill(~cells.support, -torch.inf)
    log_into = state.alpha + log_matmul(state.beta, previous_row(cells.support), jump)
    log_out_of = state.beta + log_matmul(state.alpha, later, jump.transpose(1, 2))
    u, u_before = log_u.exp(), previous_row(log_u.exp())
    into = log_into.masked_fill(~later, -torch.inf).exp()
    out_of = log_out_of.masked_fill(~earlier, -torch.inf).exp()
    rows = u.sum(1)
    gradient = _Duals(torch.where(later, into - u, 0.0), torch.where(earlier, out_of - u_before, 0.0), rows - 1.0)
    gradient = gradient._replace(row=torch.where(cells.support.any(1), gradient.row, 0.0))

    log_previous_u = previous_row(log_u.masked_fill(~cells.support, 0.0))
    half_alpha = torch.where(later, _log_scale(log_into, log_u), torch.inf)
    half_beta = torch.where(earlier, _log_scale(log_out_of, log_previous_u), torch.inf)
    half_row = torch.where(cells.support.any(1), 0.5 * rows.log(), torch.inf)
    half_next_beta = next_row(torch.where(earlier, half_beta, 0.0)).masked_fill(
        ~(cells.support & cells.has_next), torch.inf
    )
    plain_u = log_u.masked_fill(~cells.support, 0.0)
    hessian = _Hessian(
        _Duals(half_alpha.exp(), half_beta.exp(), half_row.exp()),
        jump,
        torch.where(later, state.alpha - half_alpha, -torch.inf),
        torch.where(earlier, state.beta - half_beta, -torch.inf),
        (plain_u - half_alpha - half_next_beta).exp(),
        -(plain_u - half_alpha - half_row[:, None, :]).exp(),
        -previous_row((plain_u - half_next_beta - half_row[:, None, :]).exp()),
    )
    return gradient, hessian


def _log_scale(log_w: Tensor, log_u: Tensor) -> Tensor:
    """The log of the root of W + U, what the diagonal of the Hessian holds for α and β."""
    smallest = SMALLEST_SCALE * math.log(torch.finfo(log_u.dtype).tiny)
    return (0.5 * torch.logaddexp(log_w, log_u)).clamp(min=smallest)


def _solve(hessian: _Hessian, gradient: _Duals) -> _Duals:
    """-(Hessian)⁻¹ gradient, with as little added to the diagonal as the factorisation needs; 0 if none suffices."""
    scaled = _Duals(*(g / s for g, s in zip(gradient, hessian.scales, strict=True)))
    for ridge in RIDGES:
        found, failed = _factorised(hessian, scaled, ridge * torch.finfo(scaled.row.dtype).eps)
        if not failed:
            return _Duals(*(-x / s for x, s in zip(found, hessian.scales, strict=True)))
    return _Duals(*(torch.zeros_like(g) for g in gradient))


def _factorised(hessian: _Hessian, right: _Duals, ridge: float) -> tuple[_Duals, bool]:
    """(Hessian + ridge)⁻¹ right by elimination of α, then of β position by position, then of r; and whether the matrix
    was not positive definite."""
    n, q = right.row.shape[1], 1.0 / (1.0 + ridge)
    eye = (1.0 + ridge) * torch.eye(n, dtype=right.row.dtype, device=right.row.device)
    ab, ar, br = hessian.alpha_beta, hessian.alpha_row, hessian.beta_row
    rows = eye - q * torch.diag_embed(ar.square().sum(1))
    row_right = right.row - q * (ar * right.alpha).sum(1)
    factors: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    failed = torch.zeros((), dtype=torch.bool, device=rows.device)
    for j in range(1, n):
        w = hessian.weights(j)  # [B, i, k]
        w_t = w.transpose(1, 2)
        block = eye - q * (w_t @ w) - q * torch.diag_embed(ab[:, j - 1].square())
        border = torch.diag_embed(br[:, j] - q * ab[:, j - 1] * ar[:, j - 1]) - q * w_t * ar[:, j, None, :]
        side = (
            right.beta[:, j] - q * (w_t @ right.alpha[:, j, :, None])[..., 0] - q * ab[:, j - 1] * right.alpha[:, j - 1]
        )
        if factors:
            _, link, above, known = factors[-1]
            block = block - link.transpose(1, 2) @ link
            border = border - link.transpose(1, 2) @ above
            side = side - (link.transpose(1, 2) @ known[..., None])[..., 0]
        lower, info = torch.linalg.cholesky_ex(block)
        failed = failed | (info > 0).any()
        link = -q * w_t * ab[:, j, None, :]
        solved = torch.linalg.solve_triangular(lower, torch.cat([link, border, side[..., None]], 2), upper=False)
        link, border, side = solved[..., :n], solved[..., n : 2 * n], solved[..., 2 * n]
        factors.append((lower, link, border, side))
        rows = rows - border.transpose(1, 2) @ border
        row_right = row_right - (border.transpose(1, 2) @ side[..., None])[..., 0]
    lower, info = torch.linalg.cholesky_ex(rows)
    if bool(failed | (info > 0).any()):
        return right, True
    row = torch.cholesky_solve(row_right[..., None], lower)[..., 0]
    beta = torch.zeros_like(right.beta)
    following = torch.zeros_like(row)
    for j in range(n - 1, 0, -1):
        lower, link, border, side = factors[j - 1]
        side = side - (border @ row[..., None])[..., 0] - (link @ following[..., None])[..., 0]
        following = torch.linalg.solve_triangular(lower.transpose(1, 2), side[..., None], upper=True)[..., 0]
        beta[:, j] = following
    alpha = right.alpha - ar * row[:, None, :] - ab * next_row(beta)
    for j in range(1, n):
        alpha[:, j] -= (hessian.weights(j) @ beta[:, j, :, None])[..., 0]
    return _Duals(q * alpha, beta, row), False
