"""Batches of examples of similar length, as a pure function of the seed and the epoch."""

from collections.abc import Sequence

import numpy as np


def bucketed(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Every example once, in shuffled batches whose lengths differ little (a tenth of jitter keeps batches
    from repeating)."""
    random = np.random.default_rng([seed, epoch])
    sizes = np.asarray(lengths, dtype=np.float64)
    order = np.argsort(sizes * random.uniform(0.9, 1.1, len(sizes)), kind="stable")
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    return [batches[i] for i in random.permutation(len(batches))]


def sorted_batches(lengths: Sequence[int], batch: int, cells: int = 40_000) -> list[np.ndarray]:
    """Every example once, longest first; a batch holds at most ``batch`` examples and ``cells`` squared
    lengths."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    batches, first = [], 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        count = max(1, min(batch, cells // longest**2))
        batches.append(order[first : first + count])
        first += count
    return batches


def spread(count: int, wanted: int) -> np.ndarray:
    """At most ``wanted`` of the numbers 0..count-1, evenly spread."""
    if not wanted or wanted >= count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, wanted).round().astype(np.int64))
