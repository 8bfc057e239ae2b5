"""Encoders: from word embeddings to states that know their context, for sentences of any length.

All share one signature and exclude padding exactly: a padded batch gives the states of the single sentences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from permparse.nn.config import EncoderConfig
from permparse.nn.geometric import geometric_log_attention


class Encoder(nn.Module, ABC):
    """States of the words of a batch of sentences."""

    @abstractmethod
    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """*Shape:* embedded [B, m, d], lengths [B] -> [B, m, d]; zero beyond the length."""


class NoContextEncoder(Encoder):
    """No context at all: zero, so that only the static representation is left."""

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        return torch.zeros_like(embedded)


class BiLSTMEncoder(Encoder):
    """A bidirectional LSTM; its state holds size / 2 numbers of either direction."""

    def __init__(self, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, size // 2, layers, batch_first=True, bidirectional=True, dropout=between)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        size = embedded.shape[1]
        if size == 0:
            return embedded
        # an empty sentence cannot be packed: it is run as one word and zeroed afterwards
        packed = pack_padded_sequence(embedded, lengths.clamp(min=1).cpu(), True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], True, total_length=size)
        return states * _inside(lengths, size)[..., None]


class GeometricEncoder(Encoder):
    """Layers of multi-head geometric attention: each head finds the closest word that matches, however far it is."""

    def __init__(self, size: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GeometricLayer(size, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(size)

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        inside = _inside(lengths, embedded.shape[1])
        states = embedded
        for layer in self.layers:
            states = layer(states, inside)
        return self.norm(states) * inside[..., None]


class GeometricLayer(nn.Module):
    """Geometric attention and a feed-forward layer, both residual, normalised on the way in."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"heads: expected a divisor of the hidden size {size}, got {heads}")
        self.heads, self.head_size = heads, size // heads
        self.attention_norm = nn.LayerNorm(size)
        self.project = nn.Linear(size, 3 * size)
        self.direction = nn.Linear(size, 2 * heads)
        self.output = nn.Linear(size, size)
        self.ff_norm = nn.LayerNorm(size)
        self.ff = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Dropout(dropout), nn.Linear(2 * size, size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, inside: Tensor) -> Tensor:
        """*Shape:* states [B, m, d], inside [B, m] -> [B, m, d]."""
        states = states + self.dropout(self.attend(self.attention_norm(states), inside))
        return states + self.dropout(self.ff(self.ff_norm(states)))

    def attend(self, states: Tensor, inside: Tensor) -> Tensor:
        """What the closest match of every word offers. *Shape:* [B, m, d] -> [B, m, d]."""
        split = self.project(states).unflatten(-1, (3, self.heads, self.head_size))
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)  # [B, H, m, d/H]
        left, right = self.direction(states).transpose(1, 2).chunk(2, 1)  # [B, H, m]
        scores = (query * self.head_size**-0.5) @ key.transpose(-1, -2) + by_direction(left, right)
        weights = geometric_log_attention(scores, inside[:, None]).exp()
        return self.output((weights @ value).transpose(1, 2).flatten(2))


def by_direction(left: Tensor, right: Tensor) -> Tensor:
    """The query's own score of looking to the left or to the right. *Shape:* twice [..., n] -> [..., n, n]."""
    size = left.shape[-1]
    index = torch.arange(size, device=left.device)
    return torch.where(index[:, None] < index, right[..., None], left[..., None])


def build_encoder(config: EncoderConfig) -> Encoder:
    """The encoder that the settings describe."""
    if config.kind == "bilstm":
        return BiLSTMEncoder(config.hidden_size, config.layers, config.dropout)
    if config.kind == "geometric":
        return GeometricEncoder(config.hidden_size, config.layers, config.heads, config.dropout)
    return NoContextEncoder()


def _inside(lengths: Tensor, size: int) -> Tensor:
    return torch.arange(size, device=lengths.device) < lengths[:, None]
