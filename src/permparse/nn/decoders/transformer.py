"""A Transformer decoder with relative positions, in the style of Csordás et al. (2021), normalised on the way in."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from permparse.base.settings import Section
from permparse.nn.decoders.base import Rows
from permparse.nn.dropout import Dropout
from permparse.nn.relative import FeedForward, RelativeAttention, split_heads

Heads = Float[Tensor, "N h _ e"]


class TransformerDecoderSettings(Section):
    """The decoder: layers of attention to the tokens so far and to the source."""

    layers: int = Field(default=3, ge=1)
    """Layers of the decoder."""
    hidden_size: int = Field(default=256, ge=2)
    """Size of a token's state."""
    heads: int = Field(default=4, ge=1)
    """Attention heads."""
    ff_size: int = Field(default=256, ge=1)
    """Hidden size of the feed-forward layers."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and in all layers."""


@dataclass(frozen=True)
class Attended(Rows):
    """Keys and values of the source for every layer."""

    layers: tuple[tuple[Heads, Heads], ...]
    mask: Bool[Tensor, "B m"]


@dataclass(frozen=True)
class TransformerState(Rows):
    """Keys and values of the tokens so far for every layer; None before the first token."""

    layers: tuple[tuple[Heads, Heads], ...]
    length: int


class TransformerDecoder(nn.Module):
    """Self-attention with relative positions, attention to the source, feed-forward: all residual."""

    def __init__(self, settings: TransformerDecoderSettings, source_size: int, tokens: int) -> None:
        super().__init__()
        self.size = settings.hidden_size
        self.embed = nn.Embedding(tokens, self.size)
        self.layers = nn.ModuleList(DecoderLayer(settings, source_size) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(self.size)
        self.dropout = Dropout(settings.dropout)

    def remember(self, states: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Attended:
        """Keys and values of the source."""
        layers = (layer for layer in self.layers if isinstance(layer, DecoderLayer))
        return Attended(tuple(layer.remember(states) for layer in layers), mask)

    def start(self, memory: Attended) -> TransformerState:
        """Nothing to attend to yet."""
        empty = tuple((key[:, :, :0], value[:, :, :0]) for key, value in memory.layers)
        return TransformerState(empty, 0)

    def step(
        self, memory: Attended, state: TransformerState, previous: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N d"], TransformerState]:
        """What the token after ``previous`` is read from, and the state behind it."""
        features, behind = self._run(memory, state, previous[:, None])
        return features[:, 0], behind

    def features(self, memory: Attended, inputs: Int[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        """What every next token is read from, given all tokens before it."""
        return self._run(memory, self.start(memory), inputs)[0]

    def _run(
        self, memory: Attended, state: TransformerState, inputs: Int[Tensor, "N T"]
    ) -> tuple[Float[Tensor, "N T d"], TransformerState]:
        states, first = self.dropout(self.embed(inputs)), state.length
        length = first + inputs.shape[1]
        seen = torch.ones(inputs.shape[1], length, dtype=torch.bool, device=inputs.device).tril(first)
        kept = []
        for layer, source, past in zip(self.layers, memory.layers, state.layers, strict=True):
            states, own = layer(states, past, seen[None], source, memory.mask, first)
            kept.append(own)
        return self.norm(states), TransformerState(tuple(kept), length)


class DecoderLayer(nn.Module):
    """One layer of the decoder."""

    def __init__(self, settings: TransformerDecoderSettings, source_size: int) -> None:
        super().__init__()
        size, dropout = settings.hidden_size, settings.dropout
        self.heads = settings.heads
        self.attention_norm = nn.LayerNorm(size)
        self.attention = RelativeAttention(size, settings.heads, dropout)
        self.source_norm = nn.LayerNorm(size)
        self.query = nn.Linear(size, size)
        self.source = nn.Linear(source_size, 2 * size)
        self.output = nn.Linear(size, size)
        self.ff_norm = nn.LayerNorm(size)
        self.ff = FeedForward(size, settings.ff_size, dropout)
        self.dropout = Dropout(dropout)

    def remember(self, states: Float[Tensor, "B m d"]) -> tuple[Heads, Heads]:
        """Keys and values of the source."""
        key, value = self.source(states).chunk(2, -1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def forward(
        self,
        states: Float[Tensor, "N T d"],
        past: tuple[Heads, Heads],
        seen: Bool[Tensor, "1 T _"],
        source: tuple[Heads, Heads],
        mask: Bool[Tensor, "N m"],
        first: int,
    ) -> tuple[Float[Tensor, "N T d"], tuple[Heads, Heads]]:
        """The states one layer up, and keys and values of all tokens up to them."""
        normed = self.attention_norm(states)
        key, value = (torch.cat(pair, 2) for pair in zip(past, self.attention.remember(normed), strict=True))
        states = states + self.dropout(self.attention(normed, key, value, seen, first))
        query = split_heads(self.query(self.source_norm(states)), self.heads)
        found = nn.functional.scaled_dot_product_attention(query, *source, attn_mask=mask[:, None, None])
        states = states + self.dropout(self.output(found.transpose(1, 2).flatten(2)))
        return states + self.dropout(self.ff(self.ff_norm(states))), (key, value)
