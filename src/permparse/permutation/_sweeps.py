"""Bregman sweeps of a padded batch in torch: any device, any floating-point dtype, differentiable by unrolling.

The same projections as in `_dense.py`, in the log domain: log Σ_k exp(jump[k, i] + beta[j, k]) is a matrix product of
shifted exponentials, replaced by an exact sum where it underflows. Cells outside the support never enter a sum.
Arrays are position-major, [B, j, i]; ``alpha`` and ``beta`` of row j belong to the positions (j-1, j).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from permparse.permutation._support import total_support
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution


@dataclass(frozen=True)
class Cells:
    """Which cells take part. *Shapes:* support [B, j, i]; has_previous, has_next [B, j, 1]; feasible [B]."""

    support: Tensor
    has_previous: Tensor
    has_next: Tensor
    feasible: Tensor

    @staticmethod
    def of(problem: JumpProblem) -> Cells:
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
        return Cells(support, has_previous[:, :, None], has_next[:, :, None], feasible)


class State(NamedTuple):
    """The dual variables, and U after a sweep. *Shapes:* log_row [B, i]; alpha, beta, log_u [B, j, i]; value [B].

    ``before_rows`` is log U before the rows were normalised; ``value`` the dual value, an upper bound on the optimum.
    """

    log_row: Tensor
    alpha: Tensor
    beta: Tensor
    log_u: Tensor
    before_rows: Tensor
    value: Tensor


def log_sum_exp(x: Tensor, mask: Tensor, dim: int) -> Tensor:
    """log Σ exp over the cells in ``mask``; 0 where there are none."""
    top = x.detach().masked_fill(~mask, -torch.inf).amax(dim, keepdim=True)
    top = torch.where(top.isfinite(), top, 0.0)
    total = (x - top).masked_fill(~mask, -torch.inf).exp().sum(dim, keepdim=True)
    return (torch.where(total > 0, total, 1.0).log() + top).squeeze(dim)


def log_matmul(factor: Tensor, mask: Tensor, kernel: Tensor) -> Tensor:
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
        exact = log_sum_exp(torch.where(usable, terms, 0.0), usable, 1)
        result = result.index_put(where, exact)
    return result


def next_row(rows: Tensor) -> Tensor:
    """Row j+1 at row j; the last row is zero."""
    return torch.cat([rows[:, 1:], torch.zeros_like(rows[:, :1])], 1)


def previous_row(rows: Tensor) -> Tensor:
    """Row j-1 at row j; the first row is zero (False)."""
    return torch.cat([torch.zeros_like(rows[:, :1]), rows[:, :-1]], 1)


def sweep(state: State, jump: Tensor, position: Tensor, cells: Cells) -> State:
    support, has_previous, has_next = cells.support, cells.has_previous, cells.has_next
    before = previous_row(support)
    base = position + state.log_row[:, None, :]

    into = log_matmul(state.beta, before, jump)  # (i)
    logits = torch.where(has_next, base - next_row(state.beta), base)
    logits = torch.where(has_previous, 0.5 * (logits + into), logits)
    log_u = logits - log_sum_exp(logits, support, 2)[:, :, None]
    alpha = torch.where(support & has_previous, log_u - into, 0.0)

    out_of = next_row(log_matmul(alpha, support & has_previous, jump.transpose(1, 2)))  # (ii)
    logits = torch.where(has_previous, base - alpha, base)
    logits = torch.where(has_next, 0.5 * (logits + out_of), logits)
    norm = log_sum_exp(logits, support, 2)
    before_rows = logits - norm[:, :, None]
    beta = previous_row(torch.where(support & has_next, before_rows - out_of, 0.0))

    row = log_sum_exp(before_rows, support, 1)  # (iii)
    log_row = state.log_row - row
    weight = torch.where(has_next.squeeze(2), 2.0, 1.0).to(norm.dtype)
    value = (weight * norm).sum(1) - log_row.sum(1)
    return State(log_row, alpha, beta, before_rows - row[:, None, :], before_rows, value)


def residual(state: State, jump: Tensor, cells: Cells) -> Tensor:
    """*Shape:* [B]. The largest violation of any constraint."""
    zero = state.log_u.new_zeros(())
    u = torch.where(cells.support, state.log_u, -torch.inf).exp()
    into = (state.alpha + log_matmul(state.beta, previous_row(cells.support), jump)).exp()
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


def marginals(state: State, jump: Tensor, cells: Cells) -> Tensor:
    """*Shape:* [B, k, i]. Σ_j W_ijk, position by position so that W never exists."""
    total = torch.zeros_like(jump)
    for j in range(1, jump.shape[1]):
        log_w = jump + state.alpha[:, j, None, :] + state.beta[:, j, :, None]
        used = cells.support[:, j, None, :] & cells.support[:, j - 1, :, None] & cells.has_previous[:, j, :, None]
        total = total + log_w.masked_fill(~used, -torch.inf).exp()
    return total


def start_at_zero(position: Tensor) -> State:
    """All dual variables 0: where the paper starts."""
    zeros = torch.zeros_like(position)
    return State(zeros.sum(1), zeros, zeros, zeros, zeros, zeros.sum((1, 2)))


def restored(solution: Solution, log_row: Tensor) -> State:
    """The state that a sweep can go on from: all that it reads is ``log_row`` [B, i] and β."""
    beta = solution.beta.to(log_row.dtype).transpose(1, 2)
    state = start_at_zero(beta)
    return state._replace(log_row=log_row, beta=torch.where(beta.isfinite(), beta, 0.0))


def chosen(condition: Tensor, new: State, old: State) -> State:
    """Example by example, the ``new`` state where ``condition`` [B] holds, else the ``old``."""
    return State(
        *(torch.where(condition.reshape(-1, *[1] * (x.dim() - 1)), x, y) for x, y in zip(new, old, strict=True))
    )
