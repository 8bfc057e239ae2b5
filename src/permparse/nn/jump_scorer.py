"""Stage 2: scores of which token comes first, last and directly after which (section 4 of the paper).

Tokens are known by symbol, not by surface form: all words that the lexicon copies look alike, and so do all
variables.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from permparse.multiset import FIRST_TYPE
from permparse.nn.batches import ScorerBatch
from permparse.nn.config import ScorerConfig
from permparse.nn.encoders import by_direction
from permparse.nn.geometric import geometric_log_attention
from permparse.nn.source import SourceNetwork, small_embedding
from permparse.permutation import JumpProblem

DISTANCE_LIMITS = (1, 2, 3, 5, 9)
"""The distances at which a new bucket begins, in either direction; distance 0 has one of its own."""
DISTANCE_BUCKETS = 2 * len(DISTANCE_LIMITS) + 1

ATTENTION_CLIP = (-16.0, 14.0)
SCORE_CLIP = (-50.0, 50.0)
"""The paper's limits of raw attention scores and of all others, for scorers that do not normalise."""


class JumpScorer(nn.Module):
    """From sentences and their multisets in canonical order to a `JumpProblem`.

    The representation of a token is an MLP of [h_a(i); embed(symbol_i); embed(copy_index_i)], normalised
    before and after, because unnormalised scores grow without bound in training (``normalise`` off is the
    paper's way all the same). `ScorerConfig` says which terms a jump score has.
    """

    def __init__(
        self,
        config: ScorerConfig,
        source_vocabulary_size: int,
        symbol_count: int,
        feature_sizes: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.config = config
        self.source = SourceNetwork(config.encoder, source_vocabulary_size, feature_sizes)
        self.contents = small_embedding(symbol_count, config.encoder.embedding_size) if config.multisets else None
        self.symbols = nn.Embedding(symbol_count, config.symbol_size)
        self.copies = nn.Embedding(config.max_copies, config.copy_size)
        plain = config.plain_values and config.multisets
        self.plain = nn.Linear(config.encoder.embedding_size, config.encoder.hidden_size) if plain else None
        type_size = config.symbol_size + config.copy_size
        size = self.source.state_size + type_size
        self.represent = nn.Sequential(
            nn.LayerNorm(size) if config.normalise else nn.Identity(),
            nn.Linear(size, config.ff_size),
            nn.GELU(),
            nn.Dropout(config.ff_dropout),
            nn.Linear(config.ff_size, config.ff_size),
            nn.LayerNorm(config.ff_size) if config.normalise else nn.Identity(),
        )
        self.ends = nn.Sequential(nn.Linear(config.ff_size, config.ff_size), nn.GELU(), nn.Linear(config.ff_size, 2))
        self.jump = LowRankPairs(config.ff_size, config.jump_size)
        self.direction = nn.Linear(config.ff_size, 2)
        self.distance = nn.Linear(config.ff_size, 2 * DISTANCE_BUCKETS) if config.distance else None
        self.type_pairs = LowRankPairs(type_size, config.type_rank) if config.type_rank else None
        self.state_pairs = LowRankPairs(config.ff_size, config.state_rank) if config.state_rank else None

    def forward(self, batch: ScorerBatch) -> JumpProblem:
        contents = self.word_contents(batch)
        states = self.source(batch.source, contents)
        if states.shape[1] == 0:  # nothing but empty sentences: no token refers to a state
            states = states.new_zeros((states.shape[0], 1, states.shape[2]))
        copies = self.copies(batch.copy_index.clamp(max=self.config.max_copies - 1))
        types = torch.cat([self.symbols(batch.symbols), copies], -1)
        tokens = self.represent(torch.cat([self.of_tokens(batch, states, contents), types], -1))
        start, end = self.limit(self.ends(tokens), SCORE_CLIP).unbind(-1)
        return JumpProblem(start, self.jump_scores(batch, tokens, types), end, batch.lengths)

    def of_tokens(self, batch: ScorerBatch, states: Tensor, contents: Tensor | None) -> Tensor:
        """The state of every token's word, or what is known of it without the sentence. *Shape:* [B, N, d]."""
        found = _gather(states, batch.source_index)
        if not self.config.plain_values:
            return found
        known = torch.zeros_like(found)
        if self.plain is not None and contents is not None:
            known = self.plain(_gather(contents, batch.source_index))
        return torch.where((batch.symbols < FIRST_TYPE)[..., None], known, found)

    def word_contents(self, batch: ScorerBatch) -> Tensor | None:
        """The sum of the embeddings of the symbols of every word. *Shape:* [B, m, embedding_size]."""
        if self.contents is None or batch.source.ids.shape[1] == 0:
            return None
        inside = torch.arange(batch.symbols.shape[1], device=batch.symbols.device) < batch.lengths[:, None]
        symbols = self.contents(batch.symbols) * inside[..., None]
        sums = symbols.new_zeros((*batch.source.ids.shape, symbols.shape[-1]))
        return sums.scatter_add(1, batch.source_index[..., None].expand_as(symbols), symbols)

    def jump_scores(self, batch: ScorerBatch, tokens: Tensor, types: Tensor) -> Tensor:
        """*Shape:* tokens [B, N, d], types [B, N, e] -> [B, N, N], with zeros on the diagonal and in the padding."""
        left, right = self.direction(tokens).unbind(-1)
        scores = self.jump(tokens) + by_direction(left, right)
        if self.distance is not None:
            bucket = distance_bucket(batch.source_index)
            leaving, arriving = self.distance(tokens).split(DISTANCE_BUCKETS, -1)
            scores = scores + leaving.gather(2, bucket) + arriving.gather(2, bucket.transpose(1, 2)).transpose(1, 2)
        scores = self.limit(scores, ATTENTION_CLIP)
        inside = torch.arange(tokens.shape[1], device=tokens.device) < batch.lengths[:, None]
        if self.config.geometric:
            scores = geometric_log_attention(scores, inside)
        for pairs, features in ((self.type_pairs, types), (self.state_pairs, tokens)):
            if pairs is not None:
                scores = scores + self.limit(pairs(features), SCORE_CLIP)
        unused = ~inside[:, None, :] | torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device)
        return scores.masked_fill(unused, 0.0)

    def limit(self, scores: Tensor, clip: tuple[float, float]) -> Tensor:
        """s·tanh(x/s), the identity for small scores and within ±s for all; without ``normalise`` the hard clip."""
        if not self.config.normalise:
            return scores.clamp(*clip)
        limit = self.config.saturation
        return limit * torch.tanh(scores / limit)


def _gather(states: Tensor, source_index: Tensor) -> Tensor:
    """*Shape:* [B, m, d] and [B, N] -> [B, N, d]."""
    return states.gather(1, source_index[..., None].expand(-1, -1, states.shape[-1]))


class LowRankPairs(nn.Module):
    """A bilinear score of every ordered pair of tokens. *Shape:* [B, N, d] -> [B, N, N]."""

    def __init__(self, size: int, rank: int) -> None:
        super().__init__()
        self.query = nn.Linear(size, rank)
        self.key = nn.Linear(size, rank)
        self.scale = rank**-0.5

    def forward(self, features: Tensor) -> Tensor:
        return (self.query(features) * self.scale) @ self.key(features).transpose(1, 2)


def distance_bucket(source_index: Tensor) -> Tensor:
    """How far, and to which side, the source word of i is from that of k: 0..DISTANCE_BUCKETS-1, the same
    word in the middle.

    *Shape:* [B, N] -> [B, N, N].
    """
    offset = source_index[:, None, :] - source_index[:, :, None]
    limits = torch.tensor(DISTANCE_LIMITS, device=offset.device)
    return torch.bucketize(offset.abs(), limits, right=True) * offset.sign() + len(DISTANCE_LIMITS)
