"""Slow twins of the networks' algorithms, written as their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from permparse.multiset import log_total_probability
from permparse.nn import MultisetTagger, Sentence, TaggerBatch, WordEncoder


class PlainEncoder(WordEncoder):
    """Words without any context."""

    def context(self, embedded: Tensor, mask: Tensor) -> Tensor:
        return torch.zeros_like(embedded)


def sentence(ids: Sequence[int], features: np.ndarray | None = None) -> Sentence:
    """A sentence by the ids of its words."""
    return Sentence(tuple(f"word{i}" for i in ids), np.array(ids, dtype=np.int64), features)


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
    log_probs = tagger.log_probs(batch.sentences)  # [B, m, V, K+1]
    examples, size, symbols, choices = log_probs.shape
    idle = torch.full((choices,), float("-inf"), dtype=log_probs.dtype)
    idle[0] = 0.0
    log_probs = torch.where(batch.sentences.mask[:, :, None, None], log_probs, idle)
    totals = torch.zeros((examples, symbols), dtype=torch.int64)
    totals[batch.shared[:, 0], batch.symbols[:, 0]] = batch.shared[:, 1]
    groups = log_probs.transpose(1, 2).reshape(-1, size, choices)
    return -log_total_probability(groups, totals.flatten()).view(examples, symbols).sum(1)
