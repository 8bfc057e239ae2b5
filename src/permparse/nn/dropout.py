"""Dropout on the CPU without torch's generator, whose single thread takes longer to draw a number than to use it.

Whether an element stays is a hash of its index and of one number drawn from torch's generator. So `torch.manual_seed`
decides as ever, the result is the same on every machine, and the backward pass remembers that number, not a mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from permparse.permutation._kernels import kernel

RANGE = 2**32


class Dropout(nn.Dropout):
    """`torch.nn.Dropout`, faster on the CPU."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero with probability p, and x / (1 - p) otherwise, for each element independently; x itself if not training."""
    if not training:
        return x
    if p == 0 or x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return F.dropout(x, p)
    result: Tensor = _Dropout.apply(x, p, int(torch.randint(RANGE, (), device="cpu")))
    return result


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, key: int) -> Tensor:
        ctx.p, ctx.key = p, key
        return _dropped(x, p, key)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _dropped(grad, ctx.p, ctx.key), None, None


def _dropped(x: Tensor, p: float, key: int) -> Tensor:
    given = x.detach().contiguous()
    result = torch.empty_like(given)
    limit, scale = np.uint32(min(round(p * RANGE), RANGE - 1)), given.numpy().dtype.type(1 / (1 - p))
    _drop(given.view(-1).numpy(), limit, scale, np.uint32(key), result.view(-1).numpy())
    return result


@kernel
def _drop(x, limit, scale, key, out):
    """out = scale · x where the hash of the index is at least ``limit``, else 0.

    The hash ends as MurmurHash3 does: multiplications and shifts, each of which can be undone, spread every bit.
    """
    for i in range(x.shape[0]):
        word = np.uint32(np.uint32(i) * np.uint32(0x9E3779B1)) ^ key
        word = np.uint32(word ^ (word >> np.uint32(16)))
        word = np.uint32(word * np.uint32(0x85EBCA6B))
        word = np.uint32(word ^ (word >> np.uint32(13)))
        word = np.uint32(word * np.uint32(0xC2B2AE35))
        word = np.uint32(word ^ (word >> np.uint32(16)))
        out[i] = scale * x[i] if word >= limit else x[i] * 0
