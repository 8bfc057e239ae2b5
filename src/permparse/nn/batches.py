"""Batches: index tensors that let a training step run without a loop over words or tokens.

Per-example arrays are built once; a batch is their concatenation, moved to the device in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from permparse.multiset import CanonicalMultiset

PAD = 0
"""The word id beyond the end of a sentence."""
UNK = 1
"""The id of an unknown word."""

Cell = tuple[int, int]
"""Position and symbol."""
Copies = tuple[int, Sequence[Cell]]
"""Count and cells: so many copies of a token come from these cells together."""


def length_mask(lengths: Int[Tensor, " B"], size: int) -> Bool[Tensor, "B size"]:
    """True within the length of each row."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


Batch = TypeVar("Batch", bound="Movable")


class Movable:
    """A dataclass of tensors, and of such dataclasses."""

    def to(self: Batch, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**{k: v.to(device) if isinstance(v, (Tensor, Movable)) else v for k, v in values.items()})


@dataclass(frozen=True)
class Sentence:
    """A sentence as networks see it: its words, their ids [m] and further categorical features [m, F] (or None).

    Positions behind the last word, such as an end token, have an id but no word.
    """

    words: tuple[str, ...]
    ids: np.ndarray
    features: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SentenceBatch(Movable):
    """All that an encoder may want to know of some sentences, on one device.

    ``words`` are the words as text, from which an encoder may cut pieces of its own; ``ids`` has PAD beyond the length.
    """

    words: tuple[tuple[str, ...], ...]
    ids: Int[Tensor, "B m"]
    lengths: Int[Tensor, " B"]
    features: Int[Tensor, "B m F"] | None = None

    @property
    def mask(self) -> Bool[Tensor, "B m"]:
        """True where there is a word."""
        return length_mask(self.lengths, self.ids.shape[1])

    @property
    def device(self) -> torch.device:
        return self.ids.device


def sentence_batch(sentences: Sequence[Sentence]) -> SentenceBatch:
    """Pad sentences."""
    words = tuple(sentence.words for sentence in sentences)
    lengths = _integers([len(sentence) for sentence in sentences])
    ids = padded([sentence.ids for sentence in sentences], PAD)
    given = [sentence.features for sentence in sentences if sentence.features is not None]
    if not given:
        return SentenceBatch(words, ids, lengths)
    stacked = np.zeros((*ids.shape, given[0].shape[1]), dtype=np.int64)
    for rows, features in zip(stacked, given, strict=True):
        rows[: len(features)] = features
    return SentenceBatch(words, ids, lengths, torch.from_numpy(stacked))


@dataclass(frozen=True)
class TaggerExample:
    """A sentence with its gold copies, as index arrays. Built once by `TaggerExample.build`, reused in every epoch.

    ``cells`` [C, 3]: position, symbol, count of the copies that only one cell can produce; ``counts`` [G]: of the
    others; ``positions`` and ``symbols`` [G, P]: their cells, -1 beyond the last; ``hints`` [H, 3]: position, symbol,
    count.
    """

    sentence: Sentence
    cells: np.ndarray
    counts: np.ndarray
    positions: np.ndarray
    symbols: np.ndarray
    hints: np.ndarray

    @classmethod
    def build(cls, sentence: Sentence, copies: Sequence[Copies], hints: Sequence[Copies] = ()) -> TaggerExample:
        """From the copies of the gold output, and hints of one cell each."""
        shared = [(count, cells) for count, cells in copies if len(cells) > 1]
        table = np.full((2, len(shared), max((len(cells) for _, cells in shared), default=0)), -1, np.int64)
        for row, (_, cells) in enumerate(shared):
            table[:, row, : len(cells)] = np.array(cells, dtype=np.int64).T
        return cls(
            sentence=sentence,
            cells=_table([(*cells[0], count) for count, cells in copies if len(cells) == 1], 3),
            counts=np.array([count for count, _ in shared], dtype=np.int64),
            positions=table[0],
            symbols=table[1],
            hints=_table([(*cells[0], count) for count, cells in hints], 3),
        )


@dataclass(frozen=True)
class TaggerBatch(Movable):
    """A batch for tagging. ``cells``: example, position, symbol, count of copies that one cell produces; ``shared``:
    example, count of those that several can; ``positions`` and ``symbols``: their cells, -1 beyond the last;
    ``hints``: example, position, symbol, count."""

    sentences: SentenceBatch
    cells: Int[Tensor, "C 4"]
    shared: Int[Tensor, "G 2"]
    positions: Int[Tensor, "G P"]
    symbols: Int[Tensor, "G P"]
    hints: Int[Tensor, "H 4"]


def tagger_batch(examples: Sequence[TaggerExample]) -> TaggerBatch:
    """Pad and concatenate the arrays of some examples."""
    return TaggerBatch(
        sentences=sentence_batch([e.sentence for e in examples]),
        cells=_with_example([e.cells for e in examples], 3),
        shared=_with_example([e.counts[:, None] for e in examples], 1),
        positions=_stacked([e.positions for e in examples]),
        symbols=_stacked([e.symbols for e in examples]),
        hints=_with_example([e.hints for e in examples], 3),
    )


@dataclass(frozen=True)
class ScorerBatch(Movable):
    """A batch for ordering: sentences and their multisets in canonical order, 0 beyond the length."""

    sentences: SentenceBatch
    symbols: Int[Tensor, "B N"]
    source_index: Int[Tensor, "B N"]
    copy_index: Int[Tensor, "B N"]
    lengths: Int[Tensor, " B"]

    @property
    def mask(self) -> Bool[Tensor, "B N"]:
        """True where there is a token."""
        return length_mask(self.lengths, self.symbols.shape[1])


def scorer_batch(sentences: Sequence[Sentence], multisets: Sequence[CanonicalMultiset]) -> ScorerBatch:
    """Pad sentences and their multisets."""
    return ScorerBatch(
        sentences=sentence_batch(sentences),
        symbols=padded([multiset.symbols for multiset in multisets], 0),
        source_index=padded([multiset.source_index for multiset in multisets], 0),
        copy_index=padded([multiset.copy_index for multiset in multisets], 0),
        lengths=_integers([len(multiset) for multiset in multisets]),
    )


def _integers(values: Sequence[int]) -> Int[Tensor, " n"]:
    return torch.from_numpy(np.array(values, dtype=np.int64))


def _stacked(tables: Sequence[np.ndarray]) -> Tensor:
    """Tables on top of each other, filled up with -1 to one width."""
    width = max((table.shape[1] for table in tables), default=0)
    stacked = np.full((sum(map(len, tables)), width), -1, dtype=np.int64)
    row = 0
    for table in tables:
        stacked[row : row + len(table), : table.shape[1]] = table
        row += len(table)
    return torch.from_numpy(stacked)


def _table(rows: Sequence[tuple[int, ...]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _with_example(tables: Sequence[np.ndarray], columns: int) -> Tensor:
    if not tables:
        return torch.from_numpy(np.zeros((0, columns + 1), np.int64))
    example = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    return torch.from_numpy(np.concatenate([example[:, None], np.concatenate(tables)], axis=1))


def padded(rows: Sequence[np.ndarray], value: int) -> Int[Tensor, "B n"]:
    """Arrays of ids as one table, filled up with ``value``."""
    table = np.full((len(rows), max(map(len, rows), default=0)), value, dtype=np.int64)
    for target, row in zip(table, rows, strict=True):
        target[: len(row)] = row
    return torch.from_numpy(table)
