"""The settings of the networks; the text under a field is its documentation everywhere.

`EncoderConfig` is part of both stages: each has its own encoder of the source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class NetworkConfig(BaseModel):
    """Immutable settings of a network; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class EncoderConfig(NetworkConfig):
    """How a sentence becomes one state per word."""

    kind: Literal["geometric", "bilstm", "none"] = "geometric"
    """Layers of geometric attention, a bidirectional LSTM, or no context at all."""
    layers: int = Field(default=2, ge=1)
    """Layers of the encoder."""
    hidden_size: int = Field(default=128, ge=2, multiple_of=2)
    """Size of a word's state (for the LSTM: both directions together)."""
    heads: int = Field(default=4, ge=1)
    """Attention heads of a geometric layer; must divide hidden_size."""
    embedding_size: int = Field(default=128, ge=1)
    """Size of the word embedding; projected to hidden_size where they differ."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and between layers."""
    word_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Chance of a word being replaced by the unknown word during training."""
    rare_dropout: float = Field(default=0.0, ge=0)
    """α: a word seen c times in training is moreover replaced with chance α / (α + c), so that names and values
    are mostly known by their context, as at test time, while the words around them stay."""
    static: bool = True
    """Add the context-free embedding of a word to its state."""
    vectors: Path | None = None
    """Text file of word vectors to start from (a word and embedding_size numbers a line, as GloVe has them); words
    of the vocabulary without a vector start at random, as all do without a file."""
    freeze_vectors: bool = False
    """With vectors: keep all word embeddings as they start instead of training them."""


class TaggerConfig(NetworkConfig):
    """Stage 1: how many copies of every symbol a word contributes."""

    encoder: EncoderConfig = EncoderConfig()
    """The encoder of the sentence."""
    ff_size: int = Field(default=256, ge=1)
    """Hidden size of the feed-forward layer on top of the states."""
    ff_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout inside that layer."""
    max_count: int = Field(default=4, ge=1)
    """K, the largest number of copies of one symbol that one word can contribute."""


class ScorerConfig(NetworkConfig):
    """Stage 2: which token comes first, last and after which."""

    encoder: EncoderConfig = EncoderConfig()
    """The encoder of the sentence."""
    multisets: bool = False
    """Let the encoder see which symbols each word contributes, so that it can tell names, nouns and verbs it does
    not know by what the tagger made of them."""
    plain_values: bool = False
    """Know the tokens that the lexicon or a variable produces without their sentence: by symbol, copy index and what
    else their word contributes. Then operators alone decide about order, and a value that stands in an unusual
    place is found as easily as any other."""
    symbol_size: int = Field(default=64, ge=1)
    """Size of the embedding of a token's symbol."""
    copy_size: int = Field(default=32, ge=1)
    """Size of the embedding of a token's copy index."""
    max_copies: int = Field(default=8, ge=1)
    """Copies of one symbol at one word that are told apart; later ones share an embedding."""
    ff_size: int = Field(default=256, ge=1)
    """Hidden size of the feed-forward layers."""
    ff_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout inside those layers."""
    jump_size: int = Field(default=64, ge=1)
    """Size of the query and key of a jump."""
    normalise: bool = True
    """Normalise the representation of a token before and after its feed-forward layer, and let scores saturate
    smoothly; False does neither and clips scores instead (the paper): attention to [-16, 14], others to ±50."""
    saturation: float = Field(default=14.0, gt=0)
    """Raw scores x pass through s·tanh(x/s), which keeps them within ±s without a hard clip; without normalise
    it has no use."""
    geometric: bool = True
    """Score a jump by geometric attention over the tokens in canonical order (the paper); False takes the raw score."""
    type_rank: int = Field(default=0, ge=0)
    """Rank of an additive score of the two symbols and copy indices of a jump, whatever their context; 0
    leaves it out."""
    state_rank: int = Field(default=0, ge=0)
    """Rank of an additive bilinear score of the two token representations of a jump, whatever their distance;
    0 leaves it out."""
    distance: bool = False
    """Add a score of the bucketed source distance and direction of a jump, given the representation of either
    end, to the raw score of the attention."""
