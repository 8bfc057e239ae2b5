"""Bregman sweeps for a padded batch in torch: any device, any floating-point dtype, differentiable by unrolling.

The same projections as in `_dense.py`, in the log domain: log Σ_k exp(jump[k, i] + beta[j, k]) is a matrix product of
shifted exponentials, replaced by an exact sum where it underflows. Cells outside the support never enter a sum.
Arrays are position-major, [B, j, i]; ``alpha`` and ``beta`` of row j belong to the positions (j-1, j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from permparse.permutation._support import total_support
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution

CHECK_PERIOD = 5


@dataclass(frozen=True)
class _Cells:
    """Which cells take part. *Shapes:* support [B, j, i]; has_previous, has_next [B, j, 1]; feasible [B]."""

    support: Tensor
    has_previous: Tensor
    has_next: Tensor
    feasible: Tensor

    @staticmethod
    def of(problem: JumpProblem) -> _Cells:
        support = problem.pair_mask
        feasible = torch.ones(problem.batch_size, dtype=torch.bool, device=support.device)
        if problem.allowed is not None:
            allowed = np.ascontiguousarray(problem.allowed.cpu().numpy())
            on_permutations = np.zeros_like(allowed)
            possible = np.ones(problem.batch_size, np.bool_)
            for b, n in enumerate(problem.sizes()):
                cells = np.zeros((n, n), np.bool_)
                possible[b] = total_support(np.ascontiguousarray(allowed[b, :n, :n]), cells)
                on_permutations[b, :n, :n] = cells
            support = support & torch.from_numpy(on_permutations).to(support.device).transpose(1, 2)
            feasible = torch.from_numpy(possible).to(support.device)
        has_previous = problem.token_mask & ~problem.first_mask
        has_next = problem.token_mask & ~problem.last_mask
        return _Cells(support, has_previous[:, :, None], has_next[:, :, None], feasible)


@dataclass(frozen=True)
class _State:
    """The dual variables, and U after a sweep. *Shapes:* log_row [B, i]; alpha, beta, log_u [B, j, i]; value [B]."""

    log_row: Tensor
    alpha: Tensor
    beta: Tensor
    log_u: Tensor
    before_rows: Tensor
    value: Tensor


def _log_sum_exp(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """log Σ exp over the cells in ``mask``; 0 where there are none."""
    top = x.detach().masked_fill(~mask, -torch.inf).amax(dim, keepdim=True)
    top = torch.where(top.isfinite(), top, 0.0)
    total = (x - top).masked_fill(~mask, -torch.inf).exp().sum(dim, keepdim=True)
    return (torch.where(total > 0, total, 1.0).log() + top).squeeze(dim)


def _log_matmul(factor: Tensor, mask: Tensor, kernel: Tensor) -> Tensor:
    """log Σ_k exp(factor[b, j, k] + kernel[b, k, i]) over k in ``mask`` and k ≠ i. *Shape:* [B, j, i].

    The diagonal of ``kernel`` is -inf. Cells with nothing to sum give 0; they are outside every support.
    """
    top_factor = factor.detach().masked_fill(~mask, -torch.inf).amax(2, keepdim=True)
    top_factor = torch.where(top_factor.isfinite(), top_factor, 0.0)
    top_kernel = kernel.detach().amax(1, keepdim=True)
    top_kernel = torch.where(top_kernel.isfinite(), top_kernel, 0.0)
    weights = (factor - top_factor).masked_fill(~mask, -torch.inf).exp()
    total = weights @ (kernel - top_kernel).exp()
    smallest = torch.finfo(total.dtype).tiny / torch.finfo(total.dtype).eps
    low = total.detach() < smallest
    result = torch.where(low, 1.0, total).log() + top_factor + top_kernel
    where = (low & mask.any(2, keepdim=True)).nonzero(as_tuple=True)
    if where[0].numel():
        b, j, i = where
        terms = factor[b, j] + kernel[b, :, i]
        usable = mask[b, j] & ~torch.isneginf(kernel[b, :, i])
        exact = _log_sum_exp(torch.where(usable, terms, 0.0), usable, 1)
        result = result.index_put(where, exact)
    return result


def _next(rows: Tensor) -> Tensor:
    """Row j+1 at row j; the last row is zero."""
    return torch.cat([rows[:, 1:], torch.zeros_like(rows[:, :1])], 1)


def _previous(rows: Tensor) -> Tensor:
    """Row j-1 at row j; the first row is zero (False)."""
    return torch.cat([torch.zeros_like(rows[:, :1]), rows[:, :-1]], 1)


def _sweep(state: _State, jump: Tensor, position: Tensor, cells: _Cells) -> _State:
    support, has_previous, has_next = cells.support, cells.has_previous, cells.has_next
    before = _previous(support)
    base = position + state.log_row[:, None, :]

    into = _log_matmul(state.beta, before, jump)  # (i)
    logits = torch.where(has_next, base - _next(state.beta), base)
    logits = torch.where(has_previous, 0.5 * (logits + into), logits)
    log_u = logits - _log_sum_exp(logits, support, 2)[:, :, None]
    alpha = torch.where(support & has_previous, log_u - into, 0.0)

    out_of = _next(_log_matmul(alpha, support & has_previous, jump.transpose(1, 2)))  # (ii)
    logits = torch.where(has_previous, base - alpha, base)
    logits = torch.where(has_next, 0.5 * (logits + out_of), logits)
    norm = _log_sum_exp(logits, support, 2)
    before_rows = logits - norm[:, :, None]
    beta = _previous(torch.where(support & has_next, before_rows - out_of, 0.0))

    row = _log_sum_exp(before_rows, support, 1)  # (iii)
    log_row = state.log_row - row
    weight = torch.where(has_next.squeeze(2), 2.0, 1.0).to(norm.dtype)
    value = (weight * norm).sum(1) - log_row.sum(1)
    return _State(log_row, alpha, beta, before_rows - row[:, None, :], before_rows, value)


def _residual(state: _State, jump: Tensor, cells: _Cells) -> Tensor:
    """*Shape:* [B]. The largest violation of any constraint."""
    zero = state.log_u.new_zeros(())
    u = torch.where(cells.support, state.log_u, -torch.inf).exp()
    into = (state.alpha + _log_matmul(state.beta, _previous(cells.support), jump)).exp()
    into_gap = torch.where(cells.support & cells.has_previous, (into - u).abs(), zero)
    out_gap = torch.where(cells.support & cells.has_next, (state.before_rows.exp() - u).abs(), zero)
    column_gap = torch.where(cells.support.any(2), (u.sum(2) - 1).abs(), zero)
    return torch.stack([into_gap.amax((1, 2)), out_gap.amax((1, 2)), column_gap.amax(1)]).amax(0)


def scaled_scores(problem: JumpProblem, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """Jump scores [B, k, i], -inf on the diagonal, and position scores [B, j, i], both over τ and 0 in the padding."""
    pairs = problem.pair_mask
    tau = temperature[:, None, None]
    eye = torch.eye(problem.size, dtype=torch.bool, device=pairs.device)
    jump = (torch.where(pairs & ~eye, problem.jump, 0.0) / tau).masked_fill(eye, -torch.inf)
    position = torch.where(problem.first_mask[:, :, None] & pairs, problem.start[:, None, :], 0.0)
    position = position + torch.where(problem.last_mask[:, :, None] & pairs, problem.end[:, None, :], 0.0)
    if problem.position is not None:
        position = position + torch.where(pairs, problem.position.transpose(1, 2), 0.0)
    return jump, position / tau


def _marginals(state: _State, jump: Tensor, cells: _Cells) -> Tensor:
    """*Shape:* [B, k, i]. Σ_j W_ijk, position by position so that W never exists."""
    total = torch.zeros_like(jump)
    for j in range(1, jump.shape[1]):
        log_w = jump + state.alpha[:, j, None, :] + state.beta[:, j, :, None]
        used = cells.support[:, j, None, :] & cells.support[:, j - 1, :, None] & cells.has_previous[:, j, :, None]
        total = total + log_w.masked_fill(~used, -torch.inf).exp()
    return total


def solve_batched(problem: JumpProblem, temperature: Tensor, tolerance: float, max_sweeps: int) -> Solution:
    """Sweep the whole batch until every example's residual is at most ``tolerance``, or ``max_sweeps`` times."""
    cells = _Cells.of(problem)
    jump, position = scaled_scores(problem, temperature)
    zeros = torch.zeros_like(position)
    state = _State(zeros.sum(1), zeros, zeros, zeros, zeros, zeros.sum((1, 2)))
    sweeps = torch.full_like(cells.feasible, max_sweeps, dtype=torch.int64)
    residual = torch.zeros_like(temperature)
    for sweep in range(1, max_sweeps + 1 if problem.jump.numel() else 1):
        state = _sweep(state, jump, position, cells)
        if sweep % CHECK_PERIOD == 0 or sweep == max_sweeps:
            with torch.no_grad():
                residual = _residual(state, jump, cells)
                done = ~cells.feasible | (residual <= tolerance)
                sweeps = torch.where(done, sweeps.clamp(max=sweep), sweeps)
                if bool(done.all()):
                    break
    feasible = cells.feasible
    inside = cells.support & feasible[:, None, None]
    log_u = torch.where(inside, state.log_u, -torch.inf)
    alpha = torch.where(inside & cells.has_previous, state.alpha, -torch.inf)
    beta = torch.where(_previous(inside) & cells.has_previous, state.beta, -torch.inf)
    return Solution(
        problem=problem,
        temperature=temperature,
        log_u=log_u.transpose(1, 2),
        alpha=alpha.transpose(1, 2),
        beta=beta.transpose(1, 2),
        jump_marginals=torch.where(feasible[:, None, None], _marginals(state, jump, cells), 0.0),
        value=torch.where(feasible, state.value, -torch.inf),
        residual=torch.where(feasible, residual, torch.inf),
        sweeps=torch.where(feasible, sweeps, 0),
        converged=feasible & (residual <= tolerance),
        feasible=feasible,
    )
