"""A Transformer encoder with relative positions, in the style of Csordás et al. (2021), normalised on the way in."""

from __future__ import annotations

from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from permparse.nn.dropout import Dropout
from permparse.nn.encoders.base import InputSizes
from permparse.nn.encoders.words import WordEncoder, WordEncoderSettings
from permparse.nn.relative import FeedForward, RelativeAttention


class RelativeEncoderSettings(WordEncoderSettings):
    """A Transformer."""

    heads: int = Field(default=4, ge=1)
    """Attention heads."""
    ff_size: int = Field(default=256, ge=1)
    """Hidden size of the feed-forward layers."""


class RelativeEncoder(WordEncoder):
    """Layers of self-attention, in which words see their distance to each other."""

    Settings = RelativeEncoderSettings

    def __init__(self, settings: RelativeEncoderSettings, sizes: InputSizes) -> None:
        super().__init__(settings, sizes)
        self.layers = nn.ModuleList(RelativeLayer(settings) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(settings.hidden_size)

    def context(self, embedded: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        if embedded.shape[1] == 0:
            return embedded
        # An empty sentence has nothing to attend to: it is run as one word and zeroed afterwards.
        attended = mask.clone()
        attended[:, 0] = True
        states = embedded
        for layer in self.layers:
            states = layer(states, attended)
        return self.norm(states) * mask[..., None]


class RelativeLayer(nn.Module):
    """Self-attention and a feed-forward layer, both residual."""

    def __init__(self, settings: RelativeEncoderSettings) -> None:
        super().__init__()
        size, dropout = settings.hidden_size, settings.dropout
        self.attention_norm = nn.LayerNorm(size)
        self.attention = RelativeAttention(size, settings.heads, dropout)
        self.ff_norm = nn.LayerNorm(size)
        self.ff = FeedForward(size, settings.ff_size, dropout)
        self.dropout = Dropout(dropout)

    def forward(self, states: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        normed = self.attention_norm(states)
        key, value = self.attention.remember(normed)
        states = states + self.dropout(self.attention(normed, key, value, mask[:, None]))
        return states + self.dropout(self.ff(self.ff_norm(states)))
