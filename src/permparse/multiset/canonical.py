"""The canonical order of a multiset of tokens, z' in the paper: by position, symbol and copy.

Counts become parallel arrays that say what each token is, where it came from and which copy it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CanonicalMultiset:
    """The n tokens of a multiset in canonical order. *Shape:* three int64 arrays [n]."""

    symbols: np.ndarray
    source_index: np.ndarray
    copy_index: np.ndarray

    def __len__(self) -> int:
        return len(self.symbols)


def canonical_multiset(counts: np.ndarray) -> CanonicalMultiset:
    """List ``counts[i, v]`` copies of every symbol v of every position i. *Shape:* integers [m, V]."""
    counts = np.asarray(counts)
    if counts.ndim != 2 or counts.dtype.kind not in "iu":
        raise ValueError(f"counts: expected integers of shape [m, V], got {counts.dtype} {list(counts.shape)}")
    positions, symbols = counts.nonzero()
    copies = counts[positions, symbols].astype(np.int64)
    first = (copies.cumsum() - copies).repeat(copies)
    return CanonicalMultiset(
        symbols=symbols.repeat(copies),
        source_index=positions.repeat(copies),
        copy_index=np.arange(len(first), dtype=np.int64) - first,
    )
