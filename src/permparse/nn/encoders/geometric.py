"""Layers of geometric attention over word embeddings: each head finds the closest word that matches, however far."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor, nn

from permparse.nn.dropout import Dropout
from permparse.nn.encoders.base import InputSizes
from permparse.nn.encoders.words import WordEncoder, WordEncoderSettings
from permparse.nn.geometric import by_direction, geometric_log_attention

HEADS = 4


class GeometricEncoder(WordEncoder):
    """Closest match first is the right bias for depth and length: what lies far away does not change the weights."""

    def __init__(self, settings: WordEncoderSettings, sizes: InputSizes) -> None:
        super().__init__(settings, sizes)
        size = settings.hidden_size
        self.layers = nn.ModuleList(GeometricLayer(size, settings.dropout) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(size)

    def context(self, embedded: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        states = embedded
        for layer in self.layers:
            states = layer(states, mask)
        return self.norm(states) * mask[..., None]


class GeometricLayer(nn.Module):
    """Geometric attention and a feed-forward layer, both residual, normalised on the way in."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        if size % HEADS:
            raise ValueError(f"hidden_size: expected a multiple of the {HEADS} attention heads, got {size}")
        self.head_size = size // HEADS
        self.attention_norm = nn.LayerNorm(size)
        self.project = nn.Linear(size, 3 * size)
        self.direction = nn.Linear(size, 2 * HEADS)
        self.output = nn.Linear(size, size)
        self.ff_norm = nn.LayerNorm(size)
        self.ff = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), Dropout(dropout), nn.Linear(2 * size, size))
        self.dropout = Dropout(dropout)

    def forward(self, states: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        states = states + self.dropout(self.attend(self.attention_norm(states), mask))
        return states + self.dropout(self.ff(self.ff_norm(states)))

    def attend(self, states: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        """What the closest match of every word offers."""
        split = self.project(states).unflatten(-1, (3, HEADS, self.head_size))
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)  # [B, H, m, d/H]
        left, right = self.direction(states).transpose(1, 2).chunk(2, 1)  # [B, H, m]
        scores = (query * self.head_size**-0.5) @ key.transpose(-1, -2) + by_direction(left, right)
        weights = geometric_log_attention(scores, mask[:, None]).exp()
        return self.output((weights @ value).transpose(1, 2).flatten(2))
