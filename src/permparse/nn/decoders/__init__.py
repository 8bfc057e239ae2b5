"""Sequence-to-sequence networks: the interface, decoders with attention, copying."""

from permparse.nn.decoders.base import Rows, Seq2Seq, SourceBatch
from permparse.nn.decoders.lstm import LSTMDecoderSettings
from permparse.nn.decoders.network import END_ID, OUTPUT_SPECIALS, START_ID, UNKNOWN_ID, DecoderSettings, EncoderDecoder
from permparse.nn.decoders.transformer import TransformerDecoderSettings

__all__ = [
    "END_ID",
    "OUTPUT_SPECIALS",
    "START_ID",
    "UNKNOWN_ID",
    "DecoderSettings",
    "EncoderDecoder",
    "LSTMDecoderSettings",
    "Rows",
    "Seq2Seq",
    "SourceBatch",
    "TransformerDecoderSettings",
]
