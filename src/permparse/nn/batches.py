"""Batches: index tensors that let a training step run without a loop over words or tokens.

Per-example arrays are built once; a batch is their concatenation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from permparse.multiset import CanonicalMultiset, Group

PAD = 0
"""The source id beyond the end of a sentence."""
UNK = 1
"""The source id of an unknown word."""


class _Movable:
    def to(self, device: torch.device | str) -> _Movable:
        """The same batch on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        moved = {k: v if v is None else v.to(device) for k, v in values.items()}
        return type(self)(**moved)


@dataclass(frozen=True)
class SourceBatch(_Movable):
    """Sentences: ``ids`` [B, m] (PAD beyond the length), ``lengths`` [B], ``features`` [B, m, F] of further
    categorical ids or None; all int64."""

    ids: Tensor
    lengths: Tensor
    features: Tensor | None = None

    @property
    def mask(self) -> Tensor:
        """*Shape:* [B, m]. True where there is a word."""
        return torch.arange(self.ids.shape[1], device=self.ids.device) < self.lengths[:, None]


def source_batch(
    sources: Sequence[Sequence[int] | np.ndarray], features: Sequence[np.ndarray] | None = None
) -> SourceBatch:
    """Pad sentences, given by the ids of their words (and the features of their words, [m, F] each)."""
    lengths = torch.tensor([len(source) for source in sources], dtype=torch.int64)
    ids = _pad([np.asarray(source, dtype=np.int64) for source in sources], PAD)
    if features is None:
        return SourceBatch(ids, lengths)
    stacked = np.zeros((*ids.shape, features[0].shape[1] if features else 0), dtype=np.int64)
    for b, rows in enumerate(features):
        stacked[b, : len(rows)] = rows
    return SourceBatch(ids, lengths, torch.from_numpy(stacked))


@dataclass(frozen=True)
class Hint:
    """An aligner's opinion: ``position`` produces at least ``copies`` copies of ``symbol``."""

    position: int
    symbol: int
    copies: int


@dataclass(frozen=True)
class TaggerExample:
    """A sentence with its gold groups, as index arrays. Built once by `TaggerExample.build`, then reused in
    every epoch.

    ``cells`` [C, 3]: position, symbol, total of the groups that only one position can produce; ``shared`` [G,
    2]: symbol, total of the others; ``positions`` [G, P]: their positions, -1 beyond the last; ``hints`` [H,
    3]: position, symbol, copies.
    """

    source: np.ndarray
    cells: np.ndarray
    shared: np.ndarray
    positions: np.ndarray
    hints: np.ndarray
    features: np.ndarray | None = None

    @classmethod
    def build(
        cls,
        source: Sequence[int],
        groups: Sequence[Group],
        hints: Sequence[Hint] = (),
        features: np.ndarray | None = None,
    ) -> TaggerExample:
        single = [group for group in groups if len(group.positions) == 1]
        shared = [group for group in groups if len(group.positions) > 1]
        positions = np.full((len(shared), max((len(g.positions) for g in shared), default=0)), -1, np.int64)
        for row, group in zip(positions, shared, strict=True):
            row[: len(group.positions)] = group.positions
        return cls(
            source=np.asarray(source, dtype=np.int64),
            cells=_table([(g.positions[0], g.symbol, g.total) for g in single], 3),
            shared=_table([(g.symbol, g.total) for g in shared], 2),
            positions=positions,
            hints=_table([(h.position, h.symbol, h.copies) for h in hints], 3),
            features=features,
        )


@dataclass(frozen=True)
class TaggerBatch(_Movable):
    """A batch for stage 1. ``cells`` [C, 4] holds example, position, symbol, total; ``shared`` [G, 3]
    example, symbol, total; ``positions`` [G, P], -1 beyond the last; ``hints`` [H, 4] example, position,
    symbol, copies; all int64."""

    source: SourceBatch
    cells: Tensor
    shared: Tensor
    positions: Tensor
    hints: Tensor


def tagger_batch(examples: Sequence[TaggerExample]) -> TaggerBatch:
    """Pad and concatenate the arrays of some examples."""
    with_features = bool(examples) and examples[0].features is not None
    features = [e.features for e in examples if e.features is not None] if with_features else None
    width = max((e.positions.shape[1] for e in examples), default=0)
    positions = [np.pad(e.positions, ((0, 0), (0, width - e.positions.shape[1])), constant_values=-1) for e in examples]
    return TaggerBatch(
        source=source_batch([e.source for e in examples], features),
        cells=_with_example([e.cells for e in examples], 3),
        shared=_with_example([e.shared for e in examples], 2),
        positions=torch.from_numpy(np.concatenate(positions) if positions else np.zeros((0, 0), np.int64)),
        hints=_with_example([e.hints for e in examples], 3),
    )


@dataclass(frozen=True)
class ScorerBatch(_Movable):
    """A batch for stage 2: sentences and their multisets in canonical order, all int64. *Shape:* ``symbols``,
    ``source_index`` and ``copy_index`` [B, N] (0 beyond the length), ``lengths`` [B]."""

    source: SourceBatch
    symbols: Tensor
    source_index: Tensor
    copy_index: Tensor
    lengths: Tensor


def scorer_batch(
    sources: Sequence[Sequence[int] | np.ndarray],
    multisets: Sequence[CanonicalMultiset],
    features: Sequence[np.ndarray] | None = None,
) -> ScorerBatch:
    """Pad sentences and their multisets."""
    return ScorerBatch(
        source=source_batch(sources, features),
        symbols=_pad([multiset.symbols for multiset in multisets], 0),
        source_index=_pad([multiset.source_index for multiset in multisets], 0),
        copy_index=_pad([multiset.copy_index for multiset in multisets], 0),
        lengths=torch.tensor([len(multiset) for multiset in multisets], dtype=torch.int64),
    )


def _table(rows: Sequence[tuple[int, ...]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _with_example(tables: Sequence[np.ndarray], columns: int) -> Tensor:
    if not tables:
        return torch.zeros((0, columns + 1), dtype=torch.int64)
    example = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    return torch.from_numpy(np.concatenate([example[:, None], np.concatenate(tables)], axis=1))


def _pad(rows: Sequence[np.ndarray], value: int) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows), default=0)), value, dtype=np.int64)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return torch.from_numpy(padded)
