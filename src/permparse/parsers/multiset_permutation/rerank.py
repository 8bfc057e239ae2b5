"""Reranking: words are tagged one by one, so the likeliest tokens may not go together.

Of several likely multisets the parser takes the one that is likely and, once in order, reads like an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from permparse.nn import JumpScorer, MultisetTagger
from permparse.parsers.multiset_permutation.codec import Codec, EncodedSentence
from permparse.parsers.multiset_permutation.order import BATCH, OrderDecoder, Ordered, n_best_orders, order
from permparse.parsers.multiset_permutation.tag import Tagged, Tagging, tag

IMPOSSIBLE = -10.0
"""Log probability of a jump below which it speaks against the tokens: rules make a jump that training never has, and
that cannot be avoided, about e^-30."""
ROUND = BATCH
"""Multisets that are put in order together: a few sentences compare all of theirs at once."""


@dataclass(frozen=True)
class Candidate:
    """A multiset in order, how surprising the output is (see `Trigrams.surprise`), and what its counts cost (see
    `Relations.cost`)."""

    sentence: EncodedSentence
    tagged: Tagged
    ordered: Ordered
    surprise: float
    cost: float = 0.0

    def score(self, surprise_weight: float) -> float:
        """What candidates are compared by: log P(multiset) - weight · surprise, and less where counts break what holds
        for all outputs, or where even the best order has an all but impossible jump."""
        return self.tagged.log_prob - self.cost - surprise_weight * self.surprise - strain(self.ordered.weakest)


def strain(weakest: float) -> float:
    """What the weakest jump of the best order, by its log probability, counts against an output; never negative."""
    return max(0.0, IMPOSSIBLE - weakest)


@dataclass(frozen=True)
class Reranker:
    """The two networks and how their results are put together."""

    codec: Codec
    tagger: MultisetTagger
    scorer: JumpScorer
    decoder: OrderDecoder
    candidates: int
    """How many multisets of a sentence are compared at most."""
    surprise_weight: float
    """Of surprise against log probability."""

    def tag(self, sentences: Sequence[EncodedSentence], n_best: int = 1) -> list[Tagging]:
        """One run of the tagger, with all that `best` and `n_best` will ask for."""
        return tag(self.codec, self.tagger, sentences, max(self.candidates, n_best))

    def best(self, taggings: Sequence[Tagging]) -> list[Candidate]:
        """The best candidate of every sentence.

        No score is above log P, so only multisets likelier than the best score so far are put in order: none at all if
        the likeliest one reads well. Of many sentences each gets a few rivals at a time, likeliest first: a good one
        rules out the rest. The result is that of comparing all.
        """
        best = self.in_order([(t.sentence, t.best) for t in taggings])
        if self.candidates == 1 or self.surprise_weight == 0:
            return best
        rivals = {
            i: islice(tagging.n_best(self.candidates), 1, None)
            for i, (tagging, first) in enumerate(zip(taggings, best, strict=True))
            if first.score(self.surprise_weight) < first.tagged.log_prob
        }
        while rivals:
            number = max(1, ROUND // len(rivals))
            chosen = {i: self._likelier(of, best[i], number) for i, of in rivals.items()}
            owners = [i for i, of in chosen.items() for _ in of]
            found = self.in_order([(taggings[i].sentence, t) for i, of in chosen.items() for t in of])
            for i, rival in zip(owners, found, strict=True):
                if rival.score(self.surprise_weight) > best[i].score(self.surprise_weight):
                    best[i] = rival
            rivals = {i: of for i, of in rivals.items() if len(chosen[i]) == number}
        return best

    def _likelier(self, others: Iterator[Tagged], best: Candidate, number: int) -> list[Tagged]:
        """So many of the next multisets; fewer if no more are likelier than the score of the best."""
        least, cost = best.score(self.surprise_weight), self.codec.relations.cost
        likely = takewhile(lambda t: t.log_prob > least, others)
        return list(islice((t for t in likely if t.log_prob - cost(t.tokens) > least), number))

    def n_best(self, tagging: Tagging, n: int) -> list[Candidate]:
        """The n likeliest multisets of a sentence, each in its n best orders."""
        sentence = tagging.sentence
        return [
            self._candidate(sentence, tagged, ordered)
            for tagged in tagging.n_best(n)
            for ordered in n_best_orders(self.scorer, sentence, tagged, self.decoder, self.codec.ruled_out, n)
        ]

    def in_order(self, tagged: Sequence[tuple[EncodedSentence, Tagged]]) -> list[Candidate]:
        """Every multiset put in order by the decoder."""
        ordered = order(self.scorer, [s for s, _ in tagged], [t for _, t in tagged], self.decoder, self.codec.ruled_out)
        return [self._candidate(s, t, o) for (s, t), o in zip(tagged, ordered, strict=True)]

    def _candidate(self, sentence: EncodedSentence, tagged: Tagged, ordered: Ordered) -> Candidate:
        pattern = self.codec.pattern([tagged.tokens[i] for i in ordered.order], sentence)
        cost = self.codec.relations.cost(tagged.tokens)
        return Candidate(sentence, tagged, ordered, self.codec.trigrams.surprise(pattern), cost)
