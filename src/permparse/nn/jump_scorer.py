"""Ordering: scores of which token comes first, last and directly after which (section 4 of the paper).

Tokens are known by symbol, not by surface form: all words that the lexicon copies look alike, and so do all
variables.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from permparse.nn.batches import ScorerBatch
from permparse.nn.dropout import Dropout
from permparse.nn.encoders import Encoder, InputSizes, build_encoder
from permparse.nn.encoders.words import small_embedding
from permparse.nn.geometric import by_direction, geometric_log_attention
from permparse.nn.position_scores import PositionScores
from permparse.nn.settings import ScorerSettings
from permparse.permutation import JumpProblem

DISTANCE_LIMITS = (1, 2, 3, 5, 9)
"""The distances at which a new bucket begins, in either direction; distance 0 has one of its own."""
DISTANCE_BUCKETS = 2 * len(DISTANCE_LIMITS) + 1

MAX_COPIES = 8
"""Copies of one symbol at one word that are told apart; later ones share an embedding."""
SATURATION = 14.0
ATTENTION_CLIP = (-16.0, 14.0)
SCORE_CLIP = (-50.0, 50.0)
"""The paper's limits of raw attention scores and of all others, for scorers that do not normalise."""


class JumpScorer(nn.Module):
    """From sentences and their multisets in canonical order to a `JumpProblem`.

    The representation of a token is an MLP of [h_a(i); embed(symbol_i); embed(copy_index_i)], normalised before and
    after, because unnormalised scores grow without bound in training (``normalise`` off is the paper's way all the
    same). The first ``special_symbols`` symbols are those of the lexicon and of variables.
    """

    def __init__(
        self,
        settings: ScorerSettings,
        inputs: InputSizes,
        symbols: int,
        special_symbols: int,
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__()
        self.settings, self.special_symbols = settings, special_symbols
        self.encoder = encoder = encoder or build_encoder(settings.encoder, inputs)
        self.contents = small_embedding(symbols, encoder.contents_size) if settings.multisets else None
        self.symbols = nn.Embedding(symbols, settings.symbol_size)
        self.copies = nn.Embedding(MAX_COPIES, settings.copy_size)
        plain = settings.plain_values and settings.multisets
        self.plain = nn.Linear(encoder.contents_size, encoder.size) if plain else None
        size, ff_size = encoder.size + settings.symbol_size + settings.copy_size, settings.ff_size
        self.represent = nn.Sequential(
            nn.LayerNorm(size) if settings.normalise else nn.Identity(),
            nn.Linear(size, ff_size),
            nn.GELU(),
            Dropout(settings.ff_dropout),
            nn.Linear(ff_size, ff_size),
            nn.LayerNorm(ff_size) if settings.normalise else nn.Identity(),
        )
        if not settings.jumps:
            self.positions = PositionScores(ff_size, settings.jump_size)
            return
        self.ends = _SeparateEnds(ff_size) if settings.separate_ends else _scores(ff_size, 2)
        self.jump = LowRankPairs(ff_size, settings.jump_size)
        self.direction = nn.Linear(ff_size, 2)
        self.distance = nn.Linear(ff_size, 2 * DISTANCE_BUCKETS) if settings.distance else None

    @property
    def device(self) -> torch.device:
        return self.symbols.weight.device

    def forward(self, batch: ScorerBatch) -> JumpProblem:
        contents = self.word_contents(batch)
        states = self.encoder(batch.sentences, contents)
        if states.shape[1] == 0:  # nothing but empty sentences: no token refers to a state
            states = states.new_zeros((states.shape[0], 1, states.shape[2]))
        copies = self.copies(batch.copy_index.clamp(max=MAX_COPIES - 1))
        types = torch.cat([self.symbols(batch.symbols), copies], -1)
        tokens = self.represent(torch.cat([self.of_tokens(batch, states, contents), types], -1))
        if not self.settings.jumps:
            position = self.limit(self.positions(tokens, batch.lengths), SCORE_CLIP)
            ends = tokens.new_zeros(tokens.shape[:2])
            return JumpProblem(ends, torch.zeros_like(position), ends, batch.lengths, position=position)
        start, end = self.limit(self.ends(tokens), SCORE_CLIP).unbind(-1)
        return JumpProblem(start, self.jump_scores(batch, tokens), end, batch.lengths)

    def of_tokens(
        self, batch: ScorerBatch, states: Float[Tensor, "B m d"], contents: Float[Tensor, "B m e"] | None
    ) -> Float[Tensor, "B N d"]:
        """The state of every token's word, or what is known of it without the sentence."""
        found = _gather(states, batch.source_index)
        if not self.settings.plain_values:
            return found
        known = torch.zeros_like(found)
        if self.plain is not None and contents is not None:
            known = self.plain(_gather(contents, batch.source_index))
        return torch.where((batch.symbols < self.special_symbols)[..., None], known, found)

    def word_contents(self, batch: ScorerBatch) -> Float[Tensor, "B m e"] | None:
        """The sum of the embeddings of the symbols of every word."""
        if self.contents is None or batch.sentences.ids.shape[1] == 0:
            return None
        symbols = self.contents(batch.symbols) * batch.mask[..., None]
        sums = symbols.new_zeros((*batch.sentences.ids.shape, symbols.shape[-1]))
        return sums.scatter_add(1, batch.source_index[..., None].expand_as(symbols), symbols)

    def jump_scores(self, batch: ScorerBatch, tokens: Float[Tensor, "B N d"]) -> Float[Tensor, "B N N"]:
        """The scores of all jumps, with zeros on the diagonal and in the padding."""
        left, right = self.direction(tokens).unbind(-1)
        scores = self.jump(tokens) + by_direction(left, right)
        if self.distance is not None:
            bucket = distance_bucket(batch.source_index)
            leaving, arriving = self.distance(tokens).split(DISTANCE_BUCKETS, -1)
            scores = scores + leaving.gather(2, bucket) + arriving.gather(2, bucket.transpose(1, 2)).transpose(1, 2)
        scores = geometric_log_attention(self.limit(scores, ATTENTION_CLIP), batch.mask)
        unused = ~batch.mask[:, None, :] | torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device)
        return scores.masked_fill(unused, 0.0)

    def limit(self, scores: Tensor, clip: tuple[float, float]) -> Tensor:
        """Scores that saturate smoothly at ±SATURATION; without ``normalise`` the paper's hard clip."""
        return saturated(scores, SATURATION) if self.settings.normalise else scores.clamp(*clip)


class _SeparateEnds(nn.Module):
    """Scores of being first and of being last, by a network each."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.start, self.end = _scores(size, 1), _scores(size, 1)

    def forward(self, tokens: Float[Tensor, "B N d"]) -> Float[Tensor, "B N 2"]:
        return torch.cat([self.start(tokens), self.end(tokens)], -1)


def _scores(size: int, count: int) -> nn.Sequential:
    """A feed-forward network with so many scores of a token."""
    return nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, count))


def saturated(scores: Tensor, limit: float) -> Tensor:
    """limit·tanh(x/limit): the identity for small scores and within ±limit for all."""
    return limit * torch.tanh(scores / limit)


def _gather(states: Float[Tensor, "B m d"], source_index: Int[Tensor, "B N"]) -> Float[Tensor, "B N d"]:
    return states.gather(1, source_index[..., None].expand(-1, -1, states.shape[-1]))


class LowRankPairs(nn.Module):
    """A bilinear score of every ordered pair of tokens."""

    def __init__(self, size: int, rank: int) -> None:
        super().__init__()
        self.query = nn.Linear(size, rank)
        self.key = nn.Linear(size, rank)
        self.scale = rank**-0.5

    def forward(self, features: Float[Tensor, "B N d"]) -> Float[Tensor, "B N N"]:
        return (self.query(features) * self.scale) @ self.key(features).transpose(1, 2)


def distance_bucket(source_index: Int[Tensor, "B N"]) -> Int[Tensor, "B N N"]:
    """How far, and to which side, the source word of i is from that of k: 0..DISTANCE_BUCKETS-1, the same
    word in the middle."""
    offset = source_index[:, None, :] - source_index[:, :, None]
    limits = torch.tensor(DISTANCE_LIMITS, device=offset.device)
    return torch.bucketize(offset.abs(), limits, right=True) * offset.sign() + len(DISTANCE_LIMITS)
