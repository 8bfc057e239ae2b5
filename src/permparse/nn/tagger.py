"""Tagging: every word gets a multiset of output symbols (section 3 of the paper), trained by exact likelihood.

Only the types of the gold output go through the count recursion; every other P(total = 0) is a plain product.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from permparse.multiset import (
    CountLattice,
    count_lattices,
    log_normalisers,
    log_total_probability,
    most_likely_counts,
)
from permparse.nn.batches import SentenceBatch, TaggerBatch
from permparse.nn.dropout import Dropout
from permparse.nn.encoders import Encoder, InputSizes, build_encoder
from permparse.nn.settings import TaggerSettings

FIRST_LOGIT = -3.0
"""Bias of the untrained logits: nearly all counts are zero, and need not be learned to be."""


class MultisetTagger(nn.Module):
    """P(z_iv = k | x) for every word i, symbol v and k = 0..K, independently given the sentence.

    The network gives the logits of k = 1..K; that of k = 0 is fixed at 0, which loses nothing. So a cell with
    gold count zero costs its log normaliser and nothing else, and the loss is the sum of all log normalisers
    minus the log weights of the gold groups.
    """

    def __init__(
        self, settings: TaggerSettings, inputs: InputSizes, symbols: int, encoder: Encoder | None = None
    ) -> None:
        super().__init__()
        self.settings, self.symbol_count = settings, symbols
        self.encoder = encoder or build_encoder(settings.encoder, inputs)
        self.ff = nn.Sequential(nn.Linear(self.encoder.size, settings.ff_size), nn.GELU(), Dropout(settings.ff_dropout))
        self.logits = nn.Linear(settings.ff_size, symbols * settings.max_count)
        nn.init.constant_(self.logits.bias, FIRST_LOGIT)

    @property
    def device(self) -> torch.device:
        return self.logits.weight.device

    def forward(self, sentences: SentenceBatch) -> Float[Tensor, "B m K V"]:
        """The logits of k = 1..K."""
        logits = self.logits(self.ff(self.encoder(sentences)))
        return logits.unflatten(-1, (self.settings.max_count, self.symbol_count))

    def log_probs(self, sentences: SentenceBatch) -> Float[Tensor, "B m V choices"]:
        """log P(z_iv = k | x) for k = 0..K."""
        return F.pad(self(sentences).transpose(-1, -2), (1, 0)).log_softmax(-1)

    def loss(self, batch: TaggerBatch, hint_weight: float = 0.0) -> Float[Tensor, " B"]:
        """`multiset_loss` of the network's logits."""
        return multiset_loss(self(batch.sentences), batch, hint_weight)

    def predict(self, sentences: SentenceBatch, n: int = 1) -> list[CountLattice]:
        """The most likely counts of every sentence, and whatever its n best need."""
        return count_lattices(self(sentences), sentences.mask, n)

    def constrained_counts(self, batch: TaggerBatch) -> Int[Tensor, "B m V"]:
        """The most likely counts whose union is the gold multiset: how training data is annotated for ordering.

        Raises ValueError if some total is out of reach.
        """
        logits = self(batch.sentences).detach()
        examples, size = batch.sentences.ids.shape
        counts = torch.zeros((examples, size, self.symbol_count), dtype=torch.int64, device=logits.device)
        example, position, symbol, total = batch.cells.unbind(1)
        if bool((total > self.settings.max_count).any()):
            raise ValueError(f"total {int(total.max())}: expected at most {self.settings.max_count} from one position")
        counts[example, position, symbol] = total
        found = most_likely_counts(_group_weights(logits, batch), batch.shared[:, 1])
        group, slot = (batch.positions >= 0).nonzero(as_tuple=True)
        example, position, symbol = batch.shared[group, 0], batch.positions[group, slot], batch.symbols[group, slot]
        counts[example, position, symbol] = found[group, slot]
        return counts


def multiset_loss(
    logits: Float[Tensor, "B m K V"], batch: TaggerBatch, hint_weight: float = 0.0
) -> Float[Tensor, " B"]:
    """-log P(totals | x) - hint_weight · Σ log P(z_iv ≥ l), the sum over the batch's hints.

    The recursion runs for the groups of the gold output only, on unnormalised weights: the normalisers of all
    cells are summed once, which also covers every symbol with total zero.
    """
    normalisers = log_normalisers(logits)
    loss = (normalisers.sum(-1) * batch.sentences.mask).sum(-1)
    example, position, symbol, total = batch.cells.unbind(1)
    loss = loss.index_add(0, example, -logits[example, position, total - 1, symbol])
    weights = log_total_probability(_group_weights(logits, batch), batch.shared[:, 1])
    loss = loss.index_add(0, batch.shared[:, 0], -weights)
    if hint_weight:
        loss = loss - hint_weight * _hint_log_probability(logits, normalisers, batch.hints)
    return loss


def _group_weights(logits: Float[Tensor, "B m K V"], batch: TaggerBatch) -> Float[Tensor, "G P K+1"]:
    """The unnormalised log weights of the counts of copies that several cells share."""
    taking_part = batch.positions >= 0
    weights = logits[batch.shared[:, :1], batch.positions.clamp(min=0), :, batch.symbols.clamp(min=0)]
    weights = weights.masked_fill(~taking_part[..., None], float("-inf"))
    return F.pad(weights, (1, 0))


def _hint_log_probability(
    logits: Float[Tensor, "B m K V"], normalisers: Float[Tensor, "B m V"], hints: Int[Tensor, "H 4"]
) -> Float[Tensor, " B"]:
    """Σ log P(z_iv ≥ l) of each example."""
    example, position, symbol, copies = hints.unbind(1)
    choices = logits[example, position, :, symbol]  # [H, K]
    enough = torch.arange(1, choices.shape[1] + 1, device=hints.device) >= copies.clamp(max=choices.shape[1])[:, None]
    at_least = choices.masked_fill(~enough, float("-inf")).logsumexp(-1) - normalisers[example, position, symbol]
    return logits.new_zeros(logits.shape[0]).index_add(0, example, at_least)
