"""An LSTM decoder with attention and input feeding (Luong et al. 2015): by products, which are cheap on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from permparse.base.settings import Section
from permparse.nn.decoders.base import Rows
from permparse.nn.dropout import Dropout


class LSTMDecoderSettings(Section):
    """The decoder: one LSTM layer with attention."""

    hidden_size: int = Field(default=256, ge=1)
    """Size of its state."""
    embedding_size: int = Field(default=128, ge=1)
    """Size of the embedding of an output token."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Dropout on embeddings and on what the next token is read from."""


@dataclass(frozen=True)
class Attended(Rows):
    """The states of the source, and the same as keys of the attention."""

    states: Float[Tensor, "B m d"]
    keys: Float[Tensor, "B m h"]
    mask: Bool[Tensor, "B m"]


@dataclass(frozen=True)
class LSTMState(Rows):
    """State and cell of the LSTM, and what the last token was read from."""

    hidden: Float[Tensor, "N h"]
    cell: Float[Tensor, "N h"]
    feature: Float[Tensor, "N h"]


class LSTMDecoder(nn.Module):
    """h_t = LSTM([y_t-1; r_t-1], h_t-1), c_t = attention(h_t), r_t = tanh(W [h_t; c_t])."""

    def __init__(self, settings: LSTMDecoderSettings, source_size: int, tokens: int) -> None:
        super().__init__()
        size = settings.hidden_size
        self.size = size
        self.embed = nn.Embedding(tokens, settings.embedding_size)
        self.start_from = nn.Linear(source_size, 2 * size)
        self.cell = nn.LSTMCell(settings.embedding_size + size, size)
        self.key = nn.Linear(source_size, size, bias=False)
        self.combine = nn.Linear(size + source_size, size)
        self.dropout = Dropout(settings.dropout)

    def remember(self, states: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Attended:
        """What the attention needs of the source."""
        return Attended(states, self.key(states), mask)

    def start(self, memory: Attended) -> LSTMState:
        """The mean of the source gives the first state."""
        weights = memory.mask / memory.mask.sum(1, keepdim=True).clamp(min=1)
        mean = (memory.states * weights[..., None]).sum(1)
        hidden, cell = self.start_from(mean).tanh().chunk(2, -1)
        return LSTMState(hidden, cell, torch.zeros_like(hidden))

    def step(
        self, memory: Attended, state: LSTMState, previous: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N h"], LSTMState]:
        """What the token after ``previous`` is read from, and the state behind it."""
        state = self._step(memory, state, self.dropout(self.embed(previous)))
        return self.dropout(state.feature), state

    def features(self, memory: Attended, inputs: Int[Tensor, "B T"]) -> Float[Tensor, "B T h"]:
        """What every next token is read from, given all tokens before it."""
        state, features = self.start(memory), []
        for embedded in self.dropout(self.embed(inputs)).unbind(1):
            state = self._step(memory, state, embedded)
            features.append(state.feature)
        return self.dropout(torch.stack(features, 1))

    def _step(self, memory: Attended, state: LSTMState, embedded: Float[Tensor, "N e"]) -> LSTMState:
        hidden, cell = self.cell(torch.cat([embedded, state.feature], -1), (state.hidden, state.cell))
        scores = (memory.keys @ hidden[..., None])[..., 0] * self.size**-0.5
        weights = scores.masked_fill(~memory.mask, -torch.inf).softmax(-1)
        context = (weights[:, None] @ memory.states)[:, 0]
        return LSTMState(hidden, cell, self.combine(torch.cat([hidden, context], -1)).tanh())
