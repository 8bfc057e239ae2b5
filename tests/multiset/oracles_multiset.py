"""Slow twins of the multiset algorithms: plain enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor


def assignments(log_probs: Tensor) -> Iterator[tuple[tuple[int, ...], float]]:
    """All counts of one group with their log probabilities. *Shape:* log_probs [m, K+1]."""
    positions, choices = log_probs.shape
    for counts in itertools.product(range(choices), repeat=positions):
        yield counts, float(sum(log_probs[i, k] for i, k in enumerate(counts)))


def enumerated_log_total_probability(log_probs: Tensor, totals: Tensor) -> Tensor:
    results = []
    for group, total in zip(log_probs, totals.tolist(), strict=True):
        terms = [log_prob for counts, log_prob in assignments(group) if sum(counts) == total]
        results.append(torch.tensor([*terms, float("-inf")], dtype=log_probs.dtype).logsumexp(0))
    return torch.stack(results)


def enumerated_best_log_prob(log_probs: Tensor, totals: Tensor) -> Tensor:
    best = [
        max(log_prob for counts, log_prob in assignments(group) if sum(counts) == total)
        for group, total in zip(log_probs, totals.tolist(), strict=True)
    ]
    return torch.tensor(best, dtype=log_probs.dtype)


def enumerated_n_best(log_probs: np.ndarray) -> list[float]:
    """The log probabilities of all assignments to the cells, best first. *Shape:* [m, V, K+1]."""
    cells = log_probs.reshape(-1, log_probs.shape[-1])
    return sorted((sum(choice) for choice in itertools.product(*cells.tolist())), reverse=True)
