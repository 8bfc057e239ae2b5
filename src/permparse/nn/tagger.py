"""Stage 1: every word gets a multiset of output symbols (section 3 of the paper), trained by exact likelihood.

Only the types of the gold output go through the count recursion; every other P(total = 0) is a plain product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from permparse.multiset import log_total_probability, most_likely_counts
from permparse.nn.batches import SourceBatch, TaggerBatch
from permparse.nn.config import TaggerConfig
from permparse.nn.source import SourceNetwork

FIRST_LOGIT = -3.0
"""Bias of the untrained logits: nearly all counts are zero, and need not be learned to be."""


@dataclass(frozen=True)
class TaggerPrediction:
    """Each cell's most likely count. *Shape:* ``counts`` [B, m, V] (int64), ``log_prob`` [B]."""

    counts: Tensor
    log_prob: Tensor


class MultisetTagger(nn.Module):
    """P(z_iv = k | x) for every word i, symbol v and k = 0..K, independently given the sentence.

    The network gives the logits of k = 1..K; that of k = 0 is fixed at 0, which loses nothing. So a cell with
    gold count zero costs its log normaliser and nothing else, and the loss is the sum of all log normalisers
    minus the log weights of the gold groups.
    """

    def __init__(
        self,
        config: TaggerConfig,
        source_vocabulary_size: int,
        symbol_count: int,
        feature_sizes: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.config = config
        self.symbol_count = symbol_count
        self.source = SourceNetwork(config.encoder, source_vocabulary_size, feature_sizes)
        self.ff = nn.Sequential(
            nn.Linear(self.source.state_size, config.ff_size), nn.GELU(), nn.Dropout(config.ff_dropout)
        )
        self.logits = nn.Linear(config.ff_size, symbol_count * config.max_count)
        nn.init.constant_(self.logits.bias, FIRST_LOGIT)

    @property
    def state_size(self) -> int:
        return self.source.state_size

    def source_states(self, source: SourceBatch) -> Tensor:
        """*Shape:* [B, m, state_size]."""
        states: Tensor = self.source(source)
        return states

    def forward(self, source: SourceBatch) -> Tensor:
        """The logits of k = 1..K. *Shape:* [B, m, K, V]."""
        logits = self.logits(self.ff(self.source_states(source)))
        return logits.unflatten(-1, (self.config.max_count, self.symbol_count))

    def log_probs(self, source: SourceBatch) -> Tensor:
        """log P(z_iv = k | x). *Shape:* [B, m, V, K+1]."""
        logits = F.pad(self(source).transpose(-1, -2), (1, 0))
        return logits.log_softmax(-1)

    def loss(self, batch: TaggerBatch, hint_weight: float = 0.0) -> Tensor:
        """`multiset_loss` of the network's logits. *Shape:* [B]."""
        return multiset_loss(self(batch.source), batch, hint_weight)

    def predict(self, source: SourceBatch) -> TaggerPrediction:
        """The most likely count of every cell; zero beyond the length."""
        logits = self(source)
        best, choice = logits.max(-2)
        counts = torch.where(best > 0, choice + 1, 0) * source.mask[..., None]
        log_prob = (best.clamp(min=0) - _log_normalisers(logits)).sum(-1) * source.mask
        return TaggerPrediction(counts, log_prob.sum(-1))

    def constrained_counts(self, batch: TaggerBatch) -> Tensor:
        """The most likely counts whose union is the gold multiset: how training data is annotated for stage 2.

        *Shape:* [B, m, V] (int64). Raises ValueError if some total is out of reach.
        """
        logits = self(batch.source).detach()
        examples, size = batch.source.ids.shape
        counts = torch.zeros((examples, size, self.symbol_count), dtype=torch.int64, device=logits.device)
        example, position, symbol, total = batch.cells.unbind(1)
        if bool((total > self.config.max_count).any()):
            raise ValueError(f"total {int(total.max())}: expected at most {self.config.max_count} from one position")
        counts[example, position, symbol] = total
        found = most_likely_counts(_group_weights(logits, batch), batch.shared[:, 2])
        group, slot = (batch.positions >= 0).nonzero(as_tuple=True)
        example, symbol, _ = batch.shared.unbind(1)
        counts[example[group], batch.positions[group, slot], symbol[group]] = found[group, slot]
        return counts


def multiset_loss(logits: Tensor, batch: TaggerBatch, hint_weight: float = 0.0) -> Tensor:
    """-log P(totals | x) - hint_weight · Σ log P(z_iv ≥ l), the sum over the batch's hints.

    The recursion runs for the groups of the gold output only, on unnormalised weights: the normalisers of all
    cells are summed once, which also covers every symbol with total zero.

    *Shape:* logits [B, m, K, V] -> [B].
    """
    normalisers = _log_normalisers(logits)
    loss = (normalisers.sum(-1) * batch.source.mask).sum(-1)
    example, position, symbol, total = batch.cells.unbind(1)
    loss = loss.index_add(0, example, -logits[example, position, total - 1, symbol])
    weights = log_total_probability(_group_weights(logits, batch), batch.shared[:, 2])
    loss = loss.index_add(0, batch.shared[:, 0], -weights)
    if hint_weight:
        loss = loss - hint_weight * _hint_log_probability(logits, normalisers, batch.hints)
    return loss


def _log_normalisers(logits: Tensor) -> Tensor:
    """log(1 + Σ_k exp logits_k). *Shape:* [B, m, K, V] -> [B, m, V]."""
    return torch.cat([torch.zeros_like(logits[..., :1, :]), logits], -2).logsumexp(-2)


def _group_weights(logits: Tensor, batch: TaggerBatch) -> Tensor:
    """The unnormalised log weights of the counts in the shared groups. *Shape:* [B, m, K, V] -> [G, P, K+1]."""
    example, symbol, _ = batch.shared.unbind(1)
    taking_part = batch.positions >= 0
    weights = logits[example[:, None], batch.positions.clamp(min=0), :, symbol[:, None]]
    weights = weights.masked_fill(~taking_part[..., None], float("-inf"))
    return F.pad(weights, (1, 0))


def _hint_log_probability(logits: Tensor, normalisers: Tensor, hints: Tensor) -> Tensor:
    """Σ log P(z_iv ≥ l) of each example. *Shape:* logits [B, m, K, V], hints [H, 4] -> [B]."""
    example, position, symbol, copies = hints.unbind(1)
    choices = logits[example, position, :, symbol]  # [H, K]
    enough = torch.arange(1, choices.shape[1] + 1, device=hints.device) >= copies.clamp(max=choices.shape[1])[:, None]
    at_least = choices.masked_fill(~enough, float("-inf")).logsumexp(-1) - normalisers[example, position, symbol]
    return logits.new_zeros(logits.shape[0]).index_add(0, example, at_least)
