"""Self-attention that knows how far apart two words are, and not where they stand (Dai et al. 2019).

score(i, j) = (q_i + u) · k_j + (q_i + v) · r(i - j), with r a learned projection of sinusoids.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from permparse.nn.dropout import Dropout


class RelativeAttention(nn.Module):
    """Multi-head attention with relative positions. Keys and values are made apart, so that a decoder can keep them."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        if size % heads or (size // heads) % 2:
            raise ValueError(f"expected a size that is an even multiple of the {heads} attention heads, got {size}")
        self.heads, self.head_size = heads, size // heads
        self.query = nn.Linear(size, size)
        self.keys_and_values = nn.Linear(size, 2 * size)
        self.position = nn.Linear(size, size, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, 1, self.head_size))
        self.position_bias = nn.Parameter(torch.zeros(heads, 1, self.head_size))
        self.output = nn.Linear(size, size)
        self.dropout = Dropout(dropout)

    def remember(self, states: Float[Tensor, "B k d"]) -> tuple[Float[Tensor, "B h k e"], Float[Tensor, "B h k e"]]:
        """Keys and values of some states."""
        key, value = self.keys_and_values(states).chunk(2, -1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def forward(
        self,
        states: Float[Tensor, "B q d"],
        key: Float[Tensor, "B h k e"],
        value: Float[Tensor, "B h k e"],
        mask: Bool[Tensor, "#B #q k"],
        first: int = 0,
    ) -> Float[Tensor, "B q d"]:
        """What the states, the first of which stands at position ``first``, attend to; the keys begin at 0.

        O(q k) memory per head.
        """
        query = split_heads(self.query(states), self.heads) * self.head_size**-0.5
        queries, keys = query.shape[2], key.shape[2]
        lowest = first - keys + 1
        distances = torch.arange(lowest, first + queries, device=states.device)
        relative = split_heads(self.position(sinusoids(distances, states.shape[-1]).to(states))[None], self.heads)
        by_distance = (query + self.position_bias) @ relative.transpose(-1, -2)  # [B, h, q, k + q - 1]
        index = torch.arange(first, first + queries, device=states.device)[:, None] - lowest
        index = index - torch.arange(keys, device=states.device)  # [q, k]
        by_position = by_distance.gather(3, index.expand(*by_distance.shape[:2], -1, -1))
        scores = (query + self.content_bias) @ key.transpose(-1, -2) + by_position
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return self.output((self.dropout(weights) @ value).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two layers with a ReLU between them."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), Dropout(dropout), nn.Linear(hidden, size))

    def forward(self, states: Float[Tensor, "*B d"]) -> Float[Tensor, "*B d"]:
        return self.layers(states)


def split_heads(states: Float[Tensor, "B n d"], heads: int) -> Float[Tensor, "B h n e"]:
    """The parts of the states that belong to each head."""
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


def sinusoids(distances: Tensor, size: int) -> Float[Tensor, "n d"]:
    """sin and cos of every distance, at geometrically spaced frequencies."""
    frequencies = torch.exp(torch.arange(0, size, 2, device=distances.device) * (-math.log(10_000.0) / size))
    angles = distances[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], -1)
