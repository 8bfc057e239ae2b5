"""What an encoder is: sentences in, one state per word out, on any device.

To add one, subclass `Encoder` with a `Settings` of its own; a recipe names it by `kind = "module:Class"`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from jaxtyping import Float, Int
from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError
from torch import Tensor, nn

from permparse.base.plugins import find_class
from permparse.base.settings import Section, as_nested_mistake
from permparse.nn.batches import SentenceBatch

ENCODERS = {
    "geometric": "permparse.nn.encoders.geometric:GeometricEncoder",
    "bilstm": "permparse.nn.encoders.bilstm:BiLSTMEncoder",
    "pretrained": "permparse.nn.encoders.pretrained:PretrainedEncoder",
    "relative": "permparse.nn.encoders.relative:RelativeEncoder",
}
DEFAULT_KIND = "geometric"


class EncoderSettings(Section):
    """What all encoders have in common."""

    kind: str = DEFAULT_KIND
    """geometric (attention to the closest match), bilstm, relative (a Transformer with relative positions), pretrained
    (of Hugging Face), or the path of a class of your own, module:Class."""
    lr: float | None = Field(default=None, gt=0)
    """Highest learning rate of the encoder's weights; that of all others if not set."""


class InputSizes(NamedTuple):
    """How many word ids there are, and how many values each further feature of a word has."""

    words: int
    features: tuple[int, ...] = ()


class Encoder(nn.Module, ABC):
    """States of the words of a batch of sentences: h_i = encoder(x)_i + embed(x_i), section 3 of the paper.

    Padding is excluded exactly: a padded batch gives the states of the single sentences.
    """

    Settings: ClassVar[type[EncoderSettings]] = EncoderSettings

    def __init__(self, settings: EncoderSettings, sizes: InputSizes) -> None:
        super().__init__()
        self.settings = settings

    @property
    @abstractmethod
    def size(self) -> int:
        """d, the size of a word's state."""

    @property
    @abstractmethod
    def contents_size(self) -> int:
        """The size of what `forward` takes as ``contents``."""

    @abstractmethod
    def forward(
        self, sentences: SentenceBatch, contents: Float[Tensor, "B m e"] | None = None
    ) -> Float[Tensor, "B m d"]:
        """The states of all words; without meaning beyond the length.

        ``contents`` is whatever else is known of the words, added to what the encoder knows of each by itself.
        """

    def count_words(self, ids: Int[Tensor, " n"]) -> None:
        """Learn from the ids of all words of the training data how rare each is; most encoders need not know."""
        return

    def starting_files(self) -> list[Path]:
        """The files that its settings name, which a run that is resumed must find unchanged."""
        return []

    def files(self) -> dict[str, bytes]:
        """The files that a saved parser keeps of it besides the weights, by names of small letters."""
        return {}

    @classmethod
    def from_files(
        cls, settings: EncoderSettings, sizes: InputSizes, files: Mapping[str, bytes], where: str
    ) -> Encoder:
        """The encoder of a saved parser, with or without its weights, which follow; ``where`` begins a UserError."""
        return cls(settings, sizes)

    def export_obstacle(self) -> str | None:
        """Why it cannot be exported, in a few words; None if its states depend on ids, features and lengths alone."""
        return None

    def facts(self) -> list[str]:
        """What a user should know of it, in a few words."""
        return []


def encoder_class(kind: str) -> type[Encoder]:
    """The encoder of that kind."""
    return find_class(kind, ENCODERS, "encoder", group="permparse.encoders", base=Encoder)


def build_encoder(settings: EncoderSettings, sizes: InputSizes) -> Encoder:
    """The untrained encoder that the settings describe."""
    return encoder_class(settings.kind)(settings, sizes)


def restore_encoder(settings: EncoderSettings, sizes: InputSizes, files: Mapping[str, bytes], where: str) -> Encoder:
    """The encoder that a saved parser has kept `files` of; its weights follow."""
    return encoder_class(settings.kind).from_files(settings, sizes, files, where)


def _settings_of_kind(value: Any) -> Any:
    """Read the table of an encoder by the settings of its kind."""
    if not isinstance(value, Mapping):
        return value
    try:
        return encoder_class(str(value.get("kind", DEFAULT_KIND))).Settings.model_validate(value)
    except ValidationError as error:
        raise as_nested_mistake(error) from error


AnyEncoder = Annotated[SerializeAsAny[EncoderSettings], BeforeValidator(_settings_of_kind)]
"""A field of settings that holds the settings of an encoder of any kind."""
