"""Reranking: words are tagged independently, so the most likely tokens may not go together.

Of several likely multisets, the parser takes one that is probable and, once ordered, reads like an output.
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
SEARCHED = 10
"""Multisets that are looked at for each one that may be put in order: most may break what holds for all outputs."""


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

    @property
    def _searched(self) -> int:
        """How many multisets of a sentence are looked at."""
        return self.candidates * SEARCHED if self.codec.relations.equations else self.candidates

    def tag(self, sentences: Sequence[EncodedSentence], n_best: int = 1) -> list[Tagging]:
        """One run of the tagger, with all that `best` and `n_best` will ask for."""
        return tag(self.codec, self.tagger, sentences, max(self._searched, n_best))

    def best(self, taggings: Sequence[Tagging]) -> list[Candidate]:
        """The best candidate of every sentence.

        The rivals of the likeliest multiset are the next ones that keep to what holds for all outputs. No score is
        above log P, so only multisets likelier than the best score so far are put in order: none at all if the
        likeliest one reads well. Of many sentences each gets a few rivals at a time, likeliest first: a good one rules
        out the rest. The result is that of comparing all.
        """
        best = self.in_order([(t.sentence, t.best) for t in taggings])
        if self.candidates == 1 or self.surprise_weight == 0:
            return best
        rivals = {
            i: self._rivals(tagging, best, i)
            for i, (tagging, first) in enumerate(zip(taggings, best, strict=True))
            if first.score(self.surprise_weight) < first.tagged.log_prob
        }
        while rivals:
            number = max(1, ROUND // len(rivals))
            chosen = {i: list(islice(of, number)) for i, of in rivals.items()}
            owners = [i for i, of in chosen.items() for _ in of]
            found = self.in_order([(taggings[i].sentence, t) for i, of in chosen.items() for t in of])
            for i, rival in zip(owners, found, strict=True):
                if rival.score(self.surprise_weight) > best[i].score(self.surprise_weight):
                    best[i] = rival
            rivals = {i: of for i, of in rivals.items() if len(chosen[i]) == number}
        return best

    def _rivals(self, tagging: Tagging, best: Sequence[Candidate], i: int) -> Iterator[Tagged]:
        """The multisets to compare with the i-th of the best so far, likeliest first, while they are likelier than its
        score."""
        others = islice(tagging.n_best(self._searched), 1, None)
        likely = takewhile(lambda t: t.log_prob > best[i].score(self.surprise_weight), others)
        return islice((t for t in likely if not self.codec.relations.broken_by(t.tokens)), self.candidates - 1)

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
