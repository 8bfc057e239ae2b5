"""The probability that independent counts add up to given totals: P(m | x), section 3 of the paper.

Exact sums over all ways to distribute a total over positions, and the most likely such way, in log space.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

NEG_INF = float("-inf")


def log_total_probability(log_probs: Float[Tensor, "G m choices"], totals: Int[Tensor, " G"]) -> Float[Tensor, " G"]:
    """log P(z_1 + ... + z_m = total) for G independent groups of counts.

    ``log_probs[g, i, k]`` is log P(z_i = k), which need not be normalised and may be -inf; a position that
    does not take part has (0, -inf, ..., -inf). A total that cannot be reached has log probability -inf and
    gradient zero. The gradient is the posterior P(z_i = k | total), from one forward and one backward pass
    over the positions run side by side.

    *Shape:* log_probs [G, m, K+1], totals [G] -> [G]. O(G m K T) time for T = max(totals), m vectorised steps.
    """
    check_arguments(log_probs, totals)
    result: Tensor = _LogTotalProbability.apply(log_probs, totals)
    return result


def most_likely_counts(log_probs: Float[Tensor, "G m choices"], totals: Int[Tensor, " G"]) -> Int[Tensor, "G m"]:
    """argmax Σ_i log P(z_i) subject to Σ_i z_i = total, for G independent groups: the same recursion with max for sum.

    *Shape:* log_probs [G, m, K+1], totals [G] -> counts [G, m] (int64). Raises ValueError where no counts
    reach the total.
    """
    check_arguments(log_probs, totals)
    groups, positions, choices = log_probs.shape
    log_probs = log_probs.detach()
    if groups == 0:
        return totals.new_zeros((0, positions))
    best, pad = _empty_totals(log_probs, totals)
    pointers = []
    for i in range(positions):
        # windows[g, t, k] = best[g, t - k]
        windows = best.unfold(1, choices, 1).flip(-1)
        values, pointer = (windows + log_probs[:, i, None, :]).max(-1)
        best = torch.cat([best[:, :pad], values], 1)
        pointers.append(pointer)
    left = totals.to(torch.int64)
    reached = best.gather(1, left[:, None] + pad)[:, 0] > NEG_INF
    if not bool(reached.all()):
        bad = int((~reached).nonzero()[0])
        raise ValueError(
            f"group {bad}: {positions} positions with at most {choices - 1} copies each and these "
            f"probabilities cannot reach the total {int(totals[bad])}"
        )
    counts = left.new_zeros((groups, positions))
    for i in reversed(range(positions)):
        counts[:, i] = pointers[i].gather(1, left[:, None])[:, 0]
        left = left - counts[:, i]
    return counts


def check_arguments(log_probs: Tensor, totals: Tensor) -> None:
    """ValueError, in words, unless these are groups of counts and their totals."""
    if log_probs.dim() != 3 or log_probs.shape[2] == 0:
        raise ValueError(f"log_probs: expected shape [G, m, K+1], got {list(log_probs.shape)}")
    if tuple(totals.shape) != (log_probs.shape[0],):
        raise ValueError(f"totals: expected shape [{log_probs.shape[0]}], got {list(totals.shape)}")
    if totals.dtype.is_floating_point or (totals.numel() and int(totals.min()) < 0):
        raise ValueError(f"totals: expected non-negative integers, got {totals.tolist()}")


def _empty_totals(log_probs: Tensor, totals: Tensor) -> tuple[Tensor, int]:
    """The distribution of an empty sum over totals -K..T: K impossible negative totals make every window well
    defined."""
    pad = log_probs.shape[2] - 1
    start = log_probs.new_full((log_probs.shape[0], pad + int(totals.max()) + 1), NEG_INF)
    start[:, pad] = 0.0
    return start, pad


def _prefix_sums(log_probs: Tensor, totals: Tensor) -> Tensor:
    """log P(z_1 + ... + z_i = t) for i = 0..m and t = 0..T. *Shape:* [m+1, G, T+1]."""
    groups, positions, choices = log_probs.shape
    start, pad = _empty_totals(log_probs, totals)
    size = start.shape[1] - pad
    sums = start.new_full((positions + 1, groups, pad + size), NEG_INF)
    sums[0] = start
    by_position = log_probs.permute(1, 2, 0)[..., None]  # [m, K+1, G, 1]
    for i in range(positions):
        # shifted[k, g, t] = sums[i][g, t - k]; the choice comes first so that logsumexp runs over contiguous
        # totals
        shifted = torch.stack([sums[i, :, pad - k : pad - k + size] for k in range(choices)])
        torch.logsumexp(shifted + by_position[i], 0, out=sums[i + 1, :, pad:])
    return sums[..., pad:]


class _LogTotalProbability(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_probs: Tensor, totals: Tensor) -> Tensor:
        groups = log_probs.shape[0]
        if groups == 0:
            ctx.save_for_backward(torch.zeros_like(log_probs))
            return log_probs.new_zeros((0,))
        totals = totals.to(torch.int64)
        if not ctx.needs_input_grad[0]:
            return _prefix_sums(log_probs, totals)[-1].gather(1, totals[:, None])[:, 0]
        # the sums over suffixes are the sums over prefixes of the reversed positions: one loop for both
        both = _prefix_sums(torch.cat([log_probs, log_probs.flip(1)]), torch.cat([totals, totals]))
        prefixes, suffixes = both[:, :groups], both[:, groups:].flip(0)  # suffixes[i]: positions i..m-1
        result = prefixes[-1].gather(1, totals[:, None])[:, 0]
        ctx.save_for_backward(_posterior(log_probs, totals, prefixes[:-1], suffixes[1:], result))
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (posterior,) = ctx.saved_tensors
        return posterior * grad[:, None, None], None


def _posterior(log_probs: Tensor, totals: Tensor, before: Tensor, after: Tensor, result: Tensor) -> Tensor:
    """P(z_i = k | total): positions before i sum to s, those after i to total - k - s. *Shape:* [G, m, K+1]."""
    positions, _, size = before.shape
    choices = log_probs.shape[2]
    taken = torch.arange(size + choices - 1, device=log_probs.device)  # s + k
    rest = totals[:, None] - taken
    index = rest.clamp(min=0).expand(positions, -1, -1)
    mirrored = after.gather(2, index).masked_fill(rest < 0, NEG_INF)  # mirrored[i, g, s + k]
    context = torch.logsumexp(mirrored.unfold(2, size, 1) + before[:, :, None, :], -1)  # [m, G, K+1]
    log_posterior = context.transpose(0, 1) + log_probs - result[:, None, None]
    reachable = (result > NEG_INF)[:, None, None]
    return torch.where(reachable, log_posterior, NEG_INF).exp()
