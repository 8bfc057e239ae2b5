"""From word ids to states: h_i = encoder(x)_i + embed(x_i), contextual plus static (section 3 of the paper).

Both stages have a source network of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from permparse.nn.batches import PAD, UNK, SourceBatch
from permparse.nn.config import EncoderConfig
from permparse.nn.encoders import build_encoder

EMBEDDING_SCALE = 0.1
"""Standard deviation of untrained embeddings, below the usual 1, so that a few epochs can move the words."""


class SourceNetwork(nn.Module):
    """Word embedding (learned, or starting from given vectors), further categorical features, encoder."""

    counts: Tensor

    def __init__(
        self,
        config: EncoderConfig,
        vocabulary_size: int,
        feature_sizes: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.config = config
        self.words = small_embedding(vocabulary_size, config.embedding_size, padding_idx=PAD)
        self.words.weight.requires_grad_(config.vectors is None or not config.freeze_vectors)
        self.features = nn.ModuleList(small_embedding(size, config.embedding_size) for size in feature_sizes)
        same = config.embedding_size == config.hidden_size
        self.project = nn.Identity() if same else nn.Linear(config.embedding_size, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = build_encoder(config)
        # Needed for training alone, so no part of a saved network.
        self.register_buffer("counts", torch.zeros(vocabulary_size), persistent=False)

    @property
    def state_size(self) -> int:
        return self.config.hidden_size

    @torch.no_grad()
    def start_from(self, ids: Tensor, vectors: Tensor) -> None:
        """Put given word vectors in the place of random ones. *Shape:* ids [n], vectors [n, embedding_size]."""
        expected = [len(ids), self.config.embedding_size]
        if list(vectors.shape) != expected:
            raise ValueError(f"vectors: expected shape {expected}, got {list(vectors.shape)}")
        self.words.weight[ids] = vectors.to(self.words.weight)

    def count_words(self, ids: Tensor) -> None:
        """Learn from the ids of all words of the training data how rare each is. *Shape:* ids [n]."""
        self.counts = torch.bincount(ids, minlength=len(self.counts)).to(self.counts)

    def drop_words(self, ids: Tensor) -> Tensor:
        """Some words replaced by the unknown word, rare ones more often. *Shape:* [B, m] -> [B, m]."""
        chance = torch.full(ids.shape, self.config.word_dropout, device=ids.device)
        if self.config.rare_dropout:
            rare = self.config.rare_dropout / (self.config.rare_dropout + self.counts[ids])
            chance = 1 - (1 - chance) * (1 - rare)
        dropped = torch.rand(ids.shape, device=ids.device) < chance
        return ids.masked_fill(dropped & (ids != PAD), UNK)

    def forward(self, source: SourceBatch, known: Tensor | None = None) -> Tensor:
        """The states of all words. *Shape:* [B, m, hidden_size]; without meaning beyond the length.

        ``known`` [B, m, embedding_size], whatever else is known of the words, is added to their embeddings.
        """
        ids = self.drop_words(source.ids) if self.training else source.ids
        embedded = self.words(ids)
        for index, feature in enumerate(self.features):
            if source.features is None:
                raise ValueError(f"features: expected {len(self.features)} of every word, got none")
            embedded = embedded + feature(source.features[..., index])
        if known is not None:
            embedded = embedded + known
        embedded = self.project(self.dropout(embedded))
        states = self.encoder(embedded, source.lengths)
        return states + embedded if self.config.static else states


def small_embedding(count: int, size: int, padding_idx: int | None = None) -> nn.Embedding:
    """An embedding of standard deviation EMBEDDING_SCALE."""
    embedding = nn.Embedding(count, size, padding_idx)
    with torch.no_grad():
        embedding.weight.mul_(EMBEDDING_SCALE)
    return embedding
