"""Slow twins of the networks' algorithms, written as their definitions."""

from __future__ import annotations

import torch
from torch import Tensor

from permparse.multiset import log_total_probability
from permparse.nn import MultisetTagger, TaggerBatch


def textbook_geometric_attention(scores: Tensor) -> Tensor:
    """Geometric attention of Csordás et al. as an O(n³) product over all closer columns. *Shape:* [n, n]."""
    size = len(scores)
    match = torch.sigmoid(scores)
    weights = torch.zeros_like(scores)
    for k in range(size):
        for i in range(size):
            if i == k:
                continue
            reach = abs(k - i) if i > k else abs(k - i) + 1
            closer = [j for j in range(size) if j not in (k, i) and abs(k - j) < reach]
            weights[k, i] = match[k, i] * (1 - match[k, closer]).prod()
    return weights


def full_vocabulary_loss(tagger: MultisetTagger, batch: TaggerBatch) -> Tensor:
    """-log P(totals | x) by the recursion for every symbol, without lexicon and variables. *Shape:* [B].

    The sentences have at least two words: a single one's groups are cells, which this twin does not read.
    """
    log_probs = tagger.log_probs(batch.source)  # [B, m, V, K+1]
    examples, size, symbols, choices = log_probs.shape
    idle = torch.full((choices,), float("-inf"), dtype=log_probs.dtype)
    idle[0] = 0.0
    log_probs = torch.where(batch.source.mask[:, :, None, None], log_probs, idle)
    totals = torch.zeros((examples, symbols), dtype=torch.int64)
    totals[batch.shared[:, 0], batch.shared[:, 1]] = batch.shared[:, 2]
    groups = log_probs.transpose(1, 2).reshape(-1, size, choices)
    return -log_total_probability(groups, totals.flatten()).view(examples, symbols).sum(1)
