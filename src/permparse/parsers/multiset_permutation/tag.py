"""Tagging: which tokens every word contributes, for sentences to parse and for training examples.

The tagger runs once per sentence; the most likely multiset, the candidates for reranking and the n best all come from
that run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from permparse.base.batching import sorted_batches
from permparse.base.errors import UserError
from permparse.base.threads import one_thread
from permparse.multiset import CanonicalMultiset, CountLattice, canonical_multiset
from permparse.nn import MultisetTagger, TaggerExample, sentence_batch, tagger_batch
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence

BATCH = 128


@dataclass(frozen=True)
class Tagged:
    """A multiset predicted for a sentence: ``tokens`` are the canonical tokens in canonical order."""

    multiset: CanonicalMultiset
    tokens: list[str]
    log_prob: float


@dataclass(frozen=True)
class Tagging:
    """What one run of the tagger says about a sentence."""

    codec: Codec
    sentence: EncodedSentence
    lattice: CountLattice

    @property
    def best(self) -> Tagged:
        """The most likely multiset."""
        return next(self.n_best(1))

    def n_best(self, n: int) -> Iterator[Tagged]:
        """The n most likely multisets, best first; n is at most the number that was asked for when tagging."""
        for counts, log_prob in self.lattice.n_best(n):
            multiset = self.codec.multiset(counts, self.sentence)
            yield Tagged(multiset, self.codec.tokens(multiset, self.sentence), log_prob)


@torch.no_grad()
def tag(codec: Codec, tagger: MultisetTagger, sentences: Sequence[EncodedSentence], n: int = 1) -> list[Tagging]:
    """Tag every sentence, in batches of similar length, so that its n best multisets are known."""
    if tagger.training:
        tagger.eval()
    found: dict[int, Tagging] = {}
    for batch in sorted_batches([len(s) for s in sentences], BATCH):
        chosen = [sentences[i] for i in batch]
        with one_thread():
            lattices = tagger.predict(sentence_batch(chosen).to(tagger.device), n)
        if not all(math.isfinite(lattice.log_prob) for lattice in lattices):
            raise UserError("the weights of this parser give probabilities that are not finite; train it again")
        found.update(zip(batch, (Tagging(codec, *of) for of in zip(chosen, lattices, strict=True)), strict=True))
    return [found[i] for i in range(len(sentences))]


@torch.no_grad()
def annotate(tagger: MultisetTagger, examples: Sequence[TaggerExample]) -> list[CanonicalMultiset]:
    """The most likely counts of every training example subject to their union being the gold multiset."""
    tagger.eval()
    found: dict[int, CanonicalMultiset] = {}
    for batch in sorted_batches([len(e.sentence) for e in examples], BATCH):
        counts = tagger.constrained_counts(tagger_batch([examples[i] for i in batch]).to(tagger.device)).cpu().numpy()
        for row, i in enumerate(batch):
            found[i] = canonical_multiset(counts[row, : len(examples[i].sentence)])
    return [found[i] for i in range(len(examples))]


def same_multiset(tokens: Sequence[str], target: Sequence[str]) -> bool:
    """Whether two sequences hold the same tokens equally often."""
    return len(tokens) == len(target) and Counter(tokens) == Counter(target)
