"""What a sequence-to-sequence network is given: sources, gold targets, and the search for outputs in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from permparse.base.batching import sorted_batches
from permparse.base.threads import one_thread
from permparse.nn import Sentence, sentence_batch
from permparse.nn.batches import padded
from permparse.nn.decoders import Seq2Seq, SourceBatch
from permparse.parsers.seq2seq.beam import Hypothesis, beam_search

BATCH = 64
"""Sentences that are searched or scored at once, at most."""


@dataclass(frozen=True)
class Source:
    """A sentence as a network sees it.

    ``copies``: the output id of each position's copy, -1 for none; ``extras``: the tokens that have ids behind those of
    the vocabulary; ``limit``: how many tokens an output may have; ``multiset``: the output ids that an output has to be
    made of, where they are known.
    """

    sentence: Sentence
    copies: np.ndarray
    extras: tuple[str, ...]
    limit: int
    multiset: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sentence)


@dataclass(frozen=True)
class Pairs:
    """Sources and the ids of their gold outputs, each with the end token."""

    sources: list[Source]
    targets: list[np.ndarray]

    @property
    def lengths(self) -> list[int]:
        """Tokens of either side of every pair."""
        return [len(source) + len(target) for source, target in zip(self.sources, self.targets, strict=True)]


def source_batch(sources: Sequence[Source]) -> SourceBatch:
    """Pad sources."""
    return SourceBatch(
        sentences=sentence_batch([source.sentence for source in sources]),
        copies=padded([source.copies for source in sources], -1),
        extra=torch.tensor([len(source.extras) for source in sources], dtype=torch.int64),
    )


def search(network: Seq2Seq, sources: Sequence[Source], beam: int, n_best: int = 1) -> list[list[Hypothesis]]:
    """The likeliest outputs of every source, in batches of similar length; all of them, or none, have a multiset."""
    found: dict[int, list[Hypothesis]] = {}
    for batch in sorted_batches([len(source) for source in sources], BATCH):
        chosen = [sources[i] for i in batch]
        limits = torch.tensor([source.limit for source in chosen], dtype=torch.int64)
        multisets = _counted([source.multiset for source in chosen if source.multiset is not None])
        with one_thread():
            device = network.device
            given = None if multisets is None else multisets.to(device)
            best = beam_search(network, source_batch(chosen).to(device), limits.to(device), beam, n_best, given)
        found.update(zip(batch.tolist(), best, strict=True))
    return [found[i] for i in range(len(sources))]


def _counted(multisets: Sequence[np.ndarray]) -> torch.Tensor | None:
    """How often each id occurs in every multiset."""
    if not multisets:
        return None
    width = 1 + max((int(ids.max()) for ids in multisets if len(ids)), default=0)
    return torch.from_numpy(np.stack([np.bincount(ids, minlength=width) for ids in multisets]))
