"""The recipes of the sequence-to-sequence parsers: an encoder, a decoder, how they are trained, and the beam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from permparse.nn.decoders import DecoderSettings, LSTMDecoderSettings, TransformerDecoderSettings
from permparse.nn.encoders import AnyEncoder, EncoderSettings, WordEncoderSettings
from permparse.nn.encoders.relative import RelativeEncoderSettings
from permparse.parsers.recipe import Data, Recipe, Training

TRANSLATE = "translate"
"""The one stage."""


class Seq2SeqData(Data):
    """Where the examples come from and how words are seen."""

    lexicon: Literal["induced", "copy", "none"] = "copy"
    """What the decoder may copy: the word itself (copy), the token that training pairs show it to stand for (induced,
    as in Akyürek and Andreas 2021), or nothing (none)."""


class Seq2SeqRecipe(Recipe):
    """What all sequence-to-sequence parsers have in common."""

    parse_settings: ClassVar[tuple[str, ...]] = ("beam",)

    data: Seq2SeqData = Seq2SeqData()
    """Where the examples come from."""
    beam: int = Field(default=5, ge=1)
    """Hypotheses that the trained parser keeps. Training does not depend on it."""
    training: Training = Training()
    """How the network is trained."""

    @property
    def stages(self) -> tuple[str, ...]:
        return (TRANSLATE,)

    def stage_training(self, stage: str) -> Training:
        return {TRANSLATE: self.training}[stage]


class EncoderDecoderRecipe(Seq2SeqRecipe):
    """A parser with an encoder and a decoder of ours."""

    encoder: AnyEncoder
    """The encoder of the sentence."""
    decoder: DecoderSettings
    """The decoder."""


def _unless_said_otherwise(default: EncoderSettings) -> BeforeValidator:
    """A table that leaves settings open takes those of ``default``, as long as it is an encoder of the same kind."""

    def filled(value: Any) -> Any:
        same_kind = isinstance(value, Mapping) and value.get("kind", default.kind) == default.kind
        return default.model_dump(exclude_unset=True) | dict(value) if same_kind else value

    return BeforeValidator(filled)


BILSTM = WordEncoderSettings(kind="bilstm", hidden_size=256, dropout=0.3)
RELATIVE = RelativeEncoderSettings(kind="relative", layers=3, hidden_size=256, embedding_size=256)


class LSTMRecipe(EncoderDecoderRecipe):
    """An LSTM with attention."""

    encoder: Annotated[AnyEncoder, _unless_said_otherwise(BILSTM)] = BILSTM
    """The encoder of the sentence."""
    decoder: LSTMDecoderSettings = LSTMDecoderSettings()
    """The decoder: one LSTM layer with attention."""


class TransformerRecipe(EncoderDecoderRecipe):
    """A Transformer with relative positions."""

    encoder: Annotated[AnyEncoder, _unless_said_otherwise(RELATIVE)] = RELATIVE
    """The encoder of the sentence."""
    decoder: TransformerDecoderSettings = TransformerDecoderSettings()
    """The decoder: layers of attention to the tokens so far and to the source."""
