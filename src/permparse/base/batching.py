"""Batches of examples of similar length, as a pure function of the seed and the epoch."""

from collections.abc import Sequence

import numpy as np

PADDING = 200
"""Positions beyond the ends of shorter examples that cost about as much as another batch."""


def bucketed(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Every example once, in shuffled batches whose lengths differ little (a tenth of jitter keeps batches
    from repeating)."""
    random = np.random.default_rng([seed, epoch])
    sizes = np.asarray(lengths, dtype=np.float64)
    order = np.argsort(sizes * random.uniform(0.9, 1.1, len(sizes)), kind="stable")
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    return [batches[i] for i in random.permutation(len(batches))]


def sorted_batches(
    lengths: Sequence[int], batch: int, cells: int = 40_000, others: Sequence[int] | None = None
) -> list[np.ndarray]:
    """Every example once, longest first; a batch holds at most ``batch`` examples, ``cells`` squared lengths and
    PADDING, that of its ``others``, further lengths of the examples, included."""
    sizes = np.array([lengths, [0] * len(lengths) if others is None else others], dtype=np.int64)
    order = np.lexsort(-sizes[::-1])
    batches, first = [], 0
    longest, widest, used = 0, 0, 0
    for at, (length, other) in enumerate(sizes[:, order].T.tolist()):
        count = at - first + 1
        wide = max(widest, other)
        padding = (longest + wide) * count - used - length - other
        if count > 1 and (count > min(batch, cells // max(1, longest) ** 2) or padding > PADDING):
            batches.append(order[first:at])
            first, used, longest, wide = at, 0, length, other
        longest, widest, used = max(longest, length), wide, used + length + other
    return [*batches, order[first:]] if len(order) else []


def spread(count: int, wanted: int) -> np.ndarray:
    """At most ``wanted`` of the numbers 0..count-1, evenly spread."""
    if not wanted or wanted >= count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, wanted).round().astype(np.int64))
