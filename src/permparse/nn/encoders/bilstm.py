"""A bidirectional LSTM over word embeddings: the paper's encoder without pretraining."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from permparse.nn.encoders.base import InputSizes
from permparse.nn.encoders.words import WordEncoder, WordEncoderSettings
from permparse.nn.recurrence import packed_states


class BiLSTMEncoder(WordEncoder):
    """The state of a word holds size / 2 numbers of either direction."""

    def __init__(self, settings: WordEncoderSettings, sizes: InputSizes) -> None:
        super().__init__(settings, sizes)
        size, layers = settings.hidden_size, settings.layers
        between = settings.dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, size // 2, layers, batch_first=True, bidirectional=True, dropout=between)

    def export_obstacle(self) -> str | None:
        return "torch.export unrolls an LSTM, for sentences of one length only"

    def context(self, embedded: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        size = embedded.shape[1]
        if size == 0:
            return embedded
        # An empty sentence cannot be packed: it is run as one word and zeroed afterwards.
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, True, enforce_sorted=False)
        ours = embedded.device.type == "cpu" and embedded.dtype in (torch.float32, torch.float64)
        packed = packed_states(self.lstm, packed) if ours else self.lstm(packed)[0]
        states, _ = pad_packed_sequence(packed, True, total_length=size)
        return states * mask[..., None]
