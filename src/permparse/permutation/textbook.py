"""Algorithm 1 of the paper word for word, with W in memory: the yardstick of tests and benchmarks, and a way to read
it.

O(n³) memory for every sweep that automatic differentiation has to remember. Use `BregmanSolver` for work.
"""

from __future__ import annotations

import torch
from torch import Tensor


def textbook_solve(
    start: Tensor,
    jump: Tensor,
    end: Tensor,
    temperature: float,
    sweeps: int,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """log U [B, i, j] and log W [B, i, j, k] (j from the second position on) after ``sweeps`` rounds of projections.

    Scores as in `JumpProblem`, all examples of the same length n ≥ 2. Differentiable by automatic differentiation.
    """
    n = start.shape[1]
    assert n >= 2, f"expected at least two tokens, got {n}"
    forbidden = float("-inf")
    log_u = torch.zeros_like(jump)
    first = torch.zeros(n, dtype=start.dtype)
    first[0] = 1
    log_u = (log_u + start[:, :, None] * first + end[:, :, None] * first.flip(0)) / temperature
    same_token = torch.eye(n, dtype=torch.bool)[:, None, :]
    log_w = (jump.transpose(1, 2)[:, :, None, :] / temperature).expand(-1, n, n - 1, n)
    log_w = log_w.masked_fill(same_token, forbidden)
    if allowed is not None:
        log_u = log_u.masked_fill(~allowed, forbidden)
        both = allowed[:, :, 1:, None] & allowed[:, :, :-1].transpose(1, 2)[:, None, :, :]
        log_w = log_w.masked_fill(~both, forbidden)

    for _ in range(sweeps):
        # (i) columns of U sum to 1 and Σ_k W_ijk = U_ij
        sums = _log_sum(log_w, 3)
        middle = 0.5 * (log_u[:, :, 1:] + sums)
        log_u = torch.cat([log_u[:, :, :1], middle], 2)
        log_u = log_u - _log_sum(log_u, 1)[:, None, :]
        log_w = log_w + _minus(log_u[:, :, 1:], sums)[:, :, :, None]
        # (ii) columns of U sum to 1 and Σ_i W_ijk = U_k,j-1
        sums = _log_sum(log_w, 1).transpose(1, 2)
        middle = 0.5 * (log_u[:, :, :-1] + sums)
        log_u = torch.cat([middle, log_u[:, :, -1:]], 2)
        log_u = log_u - _log_sum(log_u, 1)[:, None, :]
        log_w = log_w + _minus(log_u[:, :, :-1], sums).transpose(1, 2)[:, None, :, :]
        # (iii) rows of U sum to 1
        log_u = log_u - _log_sum(log_u, 2)[:, :, None]
    return log_u, log_w


def _log_sum(x: Tensor, dim: int) -> Tensor:
    """log Σ exp that is -inf, with gradient 0, where every term is."""
    top = x.detach().amax(dim, keepdim=True)
    top = torch.where(top.isfinite(), top, 0.0)
    total = (x - top).exp().sum(dim)
    empty = total == 0
    return torch.where(empty, -torch.inf, torch.where(empty, 1.0, total).log() + top.squeeze(dim))


def _minus(x: Tensor, y: Tensor) -> Tensor:
    """x - y, and 0 where y is -inf (such cells are excluded anyway)."""
    return torch.where(y.isinf(), 0.0, x - torch.where(y.isinf(), 0.0, y))
