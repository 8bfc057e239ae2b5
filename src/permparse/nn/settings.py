"""The settings of the two networks; the text under a field is its documentation everywhere."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from permparse.base.settings import Section
from permparse.nn.encoders import AnyEncoder, WordEncoderSettings


class TaggerSettings(Section):
    """The tagger: how many copies of every symbol a word contributes."""

    encoder: AnyEncoder = WordEncoderSettings()
    """The encoder of the sentence."""
    ff_size: int = Field(default=256, ge=1, le=2**16)
    """Hidden size of the feed-forward layer on top of the states."""
    ff_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout inside that layer."""
    max_count: int = Field(default=4, ge=0, le=1000)
    """K, the largest number of copies of one symbol that one word can contribute; 0: as many as training needs."""


class ScorerSettings(Section):
    """The jump scorer: which token comes first, last and after which."""

    encoder: AnyEncoder = WordEncoderSettings()
    """The encoder of the sentence."""
    multisets: bool = False
    """Let the encoder see which symbols each word contributes, so that it can tell unknown names, nouns and verbs apart
    by what the tagger made of them."""
    plain_values: bool = False
    """Represent LEX and VAR tokens without context: by symbol, copy index and what else their word contributes. Then
    operators alone decide the order, and a value in an unusual place is found as easily as any other."""
    symbol_size: int = Field(default=64, ge=1, le=2**14)
    """Size of the embedding of a token's symbol, that of the vectors if they are given."""
    symbol_vectors: Path | None = None
    """File of word vectors that the symbols start from, as for the words of an encoder."""
    copy_size: int = Field(default=32, ge=1, le=2**14)
    """Size of the embedding of a token's copy index."""
    ff_size: int = Field(default=256, ge=1, le=2**16)
    """Hidden size of the feed-forward layers."""
    ff_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout inside those layers."""
    jumps: bool = True
    """Score which token follows which; false scores the position of every token instead, an ablation in which the
    relaxed problem is Sinkhorn's."""
    separate_ends: bool = False
    """Score first and last tokens by a network each (the paper) instead of one with two outputs."""
    jump_size: int = Field(default=64, ge=1, le=2**14)
    """Size of the query and key of a jump."""
    normalise: bool = True
    """Normalise the representation of a token before and after its feed-forward layer, and let scores saturate
    smoothly; false does neither and clips scores instead (the paper): attention to [-16, 14], others to ±50."""
    distance: bool = False
    """Add a score of the bucketed source distance and direction of a jump, given the representation of either end, to
    the raw score of the attention."""
