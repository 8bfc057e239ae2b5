"""Ordering without jumps: a score of every token at every position of the output. What remains is Sinkhorn's problem.

An ablation: positions far from those of training are unknown to it, where a jump between two tokens looks as ever.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from permparse.nn.relative import sinusoids


class PositionScores(nn.Module):
    """A bilinear score of token i and position j, which is known by its distance to the first and to the last one."""

    def __init__(self, size: int, rank: int) -> None:
        super().__init__()
        self.query = nn.Linear(size, rank)
        self.key = nn.Sequential(nn.Linear(2 * size, size), nn.GELU(), nn.Linear(size, rank))
        self.scale = rank**-0.5

    def forward(self, tokens: Float[Tensor, "B N d"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B N N"]:
        size, count = tokens.shape[2], tokens.shape[1]
        steps = torch.arange(count, device=tokens.device)
        to_first = sinusoids(steps, size).to(tokens).expand(len(lengths), -1, -1)
        to_last = sinusoids((lengths[:, None] - 1 - steps).flatten(), size).to(tokens).unflatten(0, (-1, count))
        keys = self.key(torch.cat([to_first, to_last], -1))
        return (self.query(tokens) * self.scale) @ keys.transpose(1, 2)
