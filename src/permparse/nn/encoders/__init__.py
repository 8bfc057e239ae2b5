"""Encoders: from sentences to states that know their context, by kind."""

from permparse.nn.encoders.base import (
    AnyEncoder,
    Encoder,
    EncoderSettings,
    InputSizes,
    build_encoder,
    encoder_class,
    restore_encoder,
)
from permparse.nn.encoders.word_table import WordTable
from permparse.nn.encoders.words import WordEncoder, WordEncoderSettings

__all__ = [
    "AnyEncoder",
    "Encoder",
    "EncoderSettings",
    "InputSizes",
    "WordEncoder",
    "WordEncoderSettings",
    "WordTable",
    "build_encoder",
    "encoder_class",
    "restore_encoder",
]
