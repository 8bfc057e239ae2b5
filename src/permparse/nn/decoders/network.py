"""Encoder, decoder and readout as one network: any encoder of ours, with an LSTM or a Transformer behind it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from permparse.nn.decoders.base import Rows, Seq2Seq, SourceBatch
from permparse.nn.decoders.lstm import LSTMDecoder, LSTMDecoderSettings
from permparse.nn.decoders.readout import Offered, Readout
from permparse.nn.decoders.transformer import TransformerDecoder, TransformerDecoderSettings
from permparse.nn.encoders import EncoderSettings, InputSizes, build_encoder

OUTPUT_SPECIALS = ("<start>", "<end>", "<unk>")
START_ID, END_ID, UNKNOWN_ID = range(3)
"""The first ids of every output vocabulary."""

DecoderSettings = LSTMDecoderSettings | TransformerDecoderSettings


@dataclass(frozen=True)
class Memory(Rows):
    """The source as the decoder and the readout need it."""

    attended: Rows
    offered: Offered


class EncoderDecoder(Seq2Seq):
    """P(y | x), token by token."""

    start_id, end_id = START_ID, END_ID

    def __init__(
        self, encoder: EncoderSettings, decoder: DecoderSettings, sizes: InputSizes, tokens: int, copying: bool
    ) -> None:
        super().__init__()
        self.encoder = build_encoder(encoder, sizes)
        source_size = self.encoder.size
        self.decoder: LSTMDecoder | TransformerDecoder
        if isinstance(decoder, LSTMDecoderSettings):
            self.decoder = LSTMDecoder(decoder, source_size, tokens)
        else:
            self.decoder = TransformerDecoder(decoder, source_size, tokens)
        self.readout = Readout(self.decoder.size, source_size, tokens, copying, (START_ID, UNKNOWN_ID))

    def encode(self, source: SourceBatch) -> Memory:
        states = self.encoder(source.sentences)
        mask = source.sentences.mask
        return Memory(self.decoder.remember(states, mask), self.readout.offer(source, states))

    def start(self, memory: Memory) -> Rows:
        return self.decoder.start(memory.attended)  # type: ignore[arg-type]

    def advance(self, memory: Memory, state: Rows, previous: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], Rows]:
        features, behind = self.decoder.step(memory.attended, state, self._known(previous))  # type: ignore[arg-type]
        return self.readout(features[:, None], memory.offered)[:, 0], behind

    def log_probs(self, memory: Memory, target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        first = torch.full_like(target[:, :1], START_ID)
        inputs = torch.cat([first, target[:, :-1]], 1)
        return self.readout(self.decoder.features(memory.attended, self._known(inputs)), memory.offered)  # type: ignore[arg-type]

    def _known(self, ids: Int[Tensor, "*N"]) -> Int[Tensor, "*N"]:
        """Token ids as the decoder embeds them: all copied ones outside the vocabulary are alike."""
        return ids.masked_fill(ids >= self.readout.tokens, UNKNOWN_ID)
