"""Geometric attention (Csordás et al. 2022): every query attends to its closest match, in O(n²).

The log weights are also the paper's jump scores; they are computed without ever forming a probability.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

REMEMBERED_SIZE = 128
"""Up to this size the orders of visits are kept, at most 11 MB in all."""


def geometric_log_attention(
    scores: Float[Tensor, "*B n n"], mask: Bool[Tensor, "*keys n"] | None = None
) -> Float[Tensor, "*B n n"]:
    """The log probability that i is the first match when k looks around from its own place outwards.

    With match probabilities p_ki = sigmoid(scores[k, i]), k visits k+1, k-1, k+2, k-2, ... (at equal distance
    the right neighbour comes first, as in Csordás et al.), never itself, and stops at the first match:

        log A_ki = log p_ki + Σ_{j visited before i} log(1 - p_kj).

    A row of A sums to at most 1; the rest is the probability of no match. The diagonal and the keys outside
    ``mask`` are excluded: they get -inf and have no influence on the others.

    ``mask`` is broadcast over the leading dimensions. O(n²) time and memory.
    """
    size = scores.shape[-1]
    if size == 0:
        return scores
    excluded = torch.eye(size, dtype=torch.bool, device=scores.device)
    if mask is not None:
        excluded = excluded | ~mask[..., None, :]
    log_miss = F.logsigmoid(-scores).masked_fill(excluded, 0.0)
    log_match = F.logsigmoid(scores).masked_fill(excluded, float("-inf"))
    return log_match + sum_of_closer(log_miss)


def by_direction(left: Float[Tensor, "*B n"], right: Float[Tensor, "*B n"]) -> Float[Tensor, "*B n n"]:
    """The query's own score of looking to the left or to the right."""
    index = torch.arange(left.shape[-1], device=left.device)
    return torch.where(index[:, None] < index, right[..., None], left[..., None])


def visiting_order(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The order in which every row visits the columns: itself, then right and left in turns, outwards.

    *Shape:* order [n, n], where order[k, t] is the t-th column that row k visits, and its inverse rank [n, n].
    """
    row = torch.arange(size, device=device)[:, None]
    column = torch.arange(size, device=device)[None, :]
    distance = (row - column).abs()
    # columns visited before: all closer ones that exist on either side, and the right one of a tie
    right = (distance - 1) + torch.minimum(distance - 1, row)
    left = torch.minimum(distance, size - 1 - row) + (distance - 1)
    rank = torch.where(column > row, right, left) + 1
    rank = rank.masked_fill(distance == 0, 0)
    order = torch.zeros_like(rank).scatter(1, rank, column.expand(size, size))
    return order, rank


_remembered_order = lru_cache(maxsize=REMEMBERED_SIZE)(visiting_order)


def sum_of_closer(x: Float[Tensor, "*B n n"]) -> Float[Tensor, "*B n n"]:
    """y[k, i] = Σ x[k, j] over the j that row k visits before i."""
    size = x.shape[-1]
    # The size of an exported network is a symbol, which no cache can hold.
    remembered = isinstance(size, int) and size <= REMEMBERED_SIZE
    find = _remembered_order if remembered else visiting_order
    order, rank = (index.expand(x.shape) for index in find(size, x.device))
    if torch.is_grad_enabled() and x.requires_grad:
        found: Tensor = _SumOfCloser.apply(x, order, rank)
        return found
    return _sum_before(x, order, rank)


def _sum_before(x: Tensor, order: Tensor, rank: Tensor) -> Tensor:
    sums = x.gather(-1, order).cumsum(-1)
    # exclusive sums: shift by one place instead of subtracting, which would lose digits
    return F.pad(sums, (1, -1)).gather(-1, rank)


class _SumOfCloser(torch.autograd.Function):
    """Linear, so its gradient sums over those visited after."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, rank: Tensor) -> Tensor:
        ctx.save_for_backward(order, rank)
        return _sum_before(x, order, rank)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        order, rank = ctx.saved_tensors
        sums = grad.gather(-1, order).flip(-1).cumsum(-1)
        return F.pad(sums, (1, -1)).flip(-1).gather(-1, rank), None, None
