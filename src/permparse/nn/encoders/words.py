"""Encoders of words by embedding: learned, or starting from given vectors, then context, then both added up.

What geometric attention and the LSTM share; each adds its own way to know the context. A word that training lacks but
the given vectors have is known by its vector.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from permparse.base.files import located
from permparse.nn.batches import PAD, UNK, SentenceBatch
from permparse.nn.dropout import Dropout
from permparse.nn.encoders.base import Encoder, EncoderSettings, InputSizes
from permparse.nn.encoders.word_table import WordTable

EMBEDDING_SCALE = 0.1
"""Standard deviation of untrained embeddings, below the usual 1, so that a few epochs can move the words."""


class WordEncoderSettings(EncoderSettings):
    """How a sentence becomes one state per word."""

    layers: int = Field(default=2, ge=1, le=100)
    """Layers of the encoder."""
    hidden_size: int = Field(default=128, ge=2, le=2**14, multiple_of=2)
    """Size of a word's state (for the LSTM: both directions together)."""
    embedding_size: int = Field(default=128, ge=1, le=2**14)
    """Size of the word embedding, that of the vectors if they are given; projected to hidden_size where they differ."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout on embeddings and between layers."""
    word_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Chance of a word being replaced by the unknown word during training."""
    rare_dropout: float = Field(default=0.0, ge=0, le=1e6)
    """α: a word seen c times in training is also replaced with chance α / (α + c), so that names and values are mostly
    known by their context, as at test time, while the words around them stay."""
    vectors: Path | None = None
    """File of word vectors to start from: text as in GloVe, .npy, .npz or .safetensors; also looked for in the folder
    that PERMPARSE_MODELS names. Words without a vector start at random; a word that training lacks has its vector."""
    freeze_vectors: bool = False
    """With vectors: keep them as they are instead of training them; words without a vector are trained all the same."""


class WordEncoder(Encoder):
    """Word embedding and embeddings of features, summed; then their context."""

    Settings = WordEncoderSettings
    settings: WordEncoderSettings
    counts: Tensor
    given: Tensor

    def __init__(self, settings: WordEncoderSettings, sizes: InputSizes) -> None:
        super().__init__(settings, sizes)
        embedding, hidden = settings.embedding_size, settings.hidden_size
        self.words = small_embedding(sizes.words, embedding, padding_idx=PAD)
        self.features = nn.ModuleList(small_embedding(size, embedding) for size in sizes.features)
        self.project = nn.Identity() if embedding == hidden else nn.Linear(embedding, hidden)
        self.dropout = Dropout(settings.dropout)
        # Needed for training alone, so no part of a saved network.
        self.register_buffer("counts", torch.zeros_like(self.words.weight[:, 0]), persistent=False)
        self.register_buffer("given", torch.zeros(sizes.words, dtype=torch.bool), persistent=False)
        self.table: WordTable | None = None

    @property
    def size(self) -> int:
        return self.settings.hidden_size

    @property
    def contents_size(self) -> int:
        return self.settings.embedding_size

    @abstractmethod
    def context(self, embedded: Float[Tensor, "B m d"], mask: Bool[Tensor, "B m"]) -> Float[Tensor, "B m d"]:
        """What the words around each say about it; zero beyond the length."""

    def starting_files(self) -> list[Path]:
        return [] if self.settings.vectors is None else [located(self.settings.vectors)]

    @torch.no_grad()
    def start_from(self, ids: Int[Tensor, " n"], vectors: Float[Tensor, "n e"]) -> None:
        """Put given word vectors in the place of random ones; all other embeddings get their standard deviation."""
        expected = [len(ids), self.settings.embedding_size]
        if list(vectors.shape) != expected:
            raise ValueError(f"vectors: expected shape {expected}, got {list(vectors.shape)}")
        scale = float(vectors.std(correction=0)) / EMBEDDING_SCALE
        for embedding in (self.words, *self.features):
            embedding.weight.mul_(scale)
        self.words.weight[ids] = vectors.to(self.words.weight)

    def mark_given(self, ids: Int[Tensor, " n"]) -> None:
        """Say which words have a given vector: those that ``freeze_vectors`` keeps as they are."""
        self.given[ids] = True

    def export_obstacle(self) -> str | None:
        return None if self.table is None else "vectors of words beyond the vocabulary are found by the text of a word"

    def count_words(self, ids: Int[Tensor, " n"]) -> None:
        self.counts = torch.bincount(ids, minlength=len(self.counts)).to(self.counts)

    def drop_words(self, ids: Int[Tensor, "B m"]) -> Int[Tensor, "B m"]:
        """Some words replaced by the unknown word, rare ones more often."""
        chance = torch.full(ids.shape, self.settings.word_dropout, device=ids.device)
        if self.settings.rare_dropout:
            rare = self.settings.rare_dropout / (self.settings.rare_dropout + self.counts[ids])
            chance = 1 - (1 - chance) * (1 - rare)
        dropped = torch.rand(ids.shape, device=ids.device) < chance
        return ids.masked_fill(dropped & (ids != PAD), UNK)

    def forward(
        self, sentences: SentenceBatch, contents: Float[Tensor, "B m e"] | None = None
    ) -> Float[Tensor, "B m d"]:
        ids = self.drop_words(sentences.ids) if self.training else sentences.ids
        embedded = self.words(ids)
        if self.settings.freeze_vectors:
            embedded = torch.where(self.given[ids][..., None], embedded.detach(), embedded)
        if self.table is not None:
            embedded = self.table.filled(embedded, sentences)
        for index, feature in enumerate(self.features):
            if sentences.features is None:
                raise ValueError(f"features: expected {len(self.features)} of every word, got none")
            embedded = embedded + feature(sentences.features[..., index])
        if contents is not None:
            embedded = embedded + contents
        embedded = self.project(self.dropout(embedded))
        return self.context(embedded, sentences.mask) + embedded


def small_embedding(count: int, size: int, padding_idx: int | None = None) -> nn.Embedding:
    """An embedding of standard deviation EMBEDDING_SCALE."""
    embedding = nn.Embedding(count, size, padding_idx)
    with torch.no_grad():
        embedding.weight.mul_(EMBEDDING_SCALE)
    return embedding
