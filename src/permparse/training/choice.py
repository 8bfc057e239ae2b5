"""Which of several likely multisets to take: words are tagged one by one, so the likeliest tokens of all may not go
together. The best candidate is likely and, put in order, reads like an output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from permparse.nn import JumpScorer, MultisetTagger
from permparse.training.codec import Codec, EncodedSource
from permparse.training.ordering import OrderDecoder, Ordered, order
from permparse.training.tagging import Tagged, tag, tag_n_best


@dataclass(frozen=True)
class Chosen:
    """A multiset in order, and how surprising the output is (see `Trigrams.surprise`)."""

    tagged: Tagged
    ordered: Ordered
    surprise: float

    def score(self, weight: float) -> float:
        """log P(multiset) - weight · surprise: what candidates are compared by."""
        return self.tagged.log_prob - weight * self.surprise


@dataclass(frozen=True)
class Chooser:
    """The two networks and how their results are put together."""

    codec: Codec
    tagger: MultisetTagger
    scorer: JumpScorer
    decoder: OrderDecoder
    candidates: int
    """How many multisets of a sentence are compared at most."""
    weight: float
    """Of surprise against log probability."""

    def choose(self, sources: Sequence[EncodedSource]) -> list[Chosen]:
        """The best candidate of every sentence.

        Surprise is never negative, so only multisets likelier than the score of the likeliest one are put in order:
        none at all if that reads well. The result is that of comparing all.
        """
        best = self.in_order(sources, tag(self.codec, self.tagger, sources))
        if self.candidates == 1 or self.weight == 0:
            return best
        doubtful = [i for i, first in enumerate(best) if first.surprise > 0]
        owners: list[int] = []
        rivals: list[Tagged] = []
        found = tag_n_best(self.codec, self.tagger, [sources[i] for i in doubtful], self.candidates)
        for i, likely in zip(doubtful, found, strict=True):
            better = [t for t in likely[1:] if t.log_prob > best[i].score(self.weight)]
            owners += [i] * len(better)
            rivals += better
        for i, rival in zip(owners, self.in_order([sources[i] for i in owners], rivals), strict=True):
            if rival.score(self.weight) > best[i].score(self.weight):
                best[i] = rival
        return best

    def in_order(self, sources: Sequence[EncodedSource], tagged: Sequence[Tagged]) -> list[Chosen]:
        """Every multiset put in order by the decoder."""
        ordered = order(self.scorer, sources, tagged, self.decoder)
        return [Chosen(t, o, self.surprise(s, t, o)) for s, t, o in zip(sources, tagged, ordered, strict=True)]

    def surprise(self, source: EncodedSource, tagged: Tagged, ordered: Ordered) -> float:
        """How surprising the output is that an order of a multiset gives."""
        return self.codec.trigrams.surprise(self.codec.pattern([tagged.tokens[i] for i in ordered.order], source))
