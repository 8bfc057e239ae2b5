"""Agreement on outputs: every member proposes some, and all members judge each.

The members' counts must not be averaged: each training spreads the tokens over the words in its own way. The
probability of the multiset as a whole does not depend on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.parsers.multiset_permutation.rerank import strain
from permparse.parsers.multiset_permutation.stages import HOPELESS, EncodedExamples, multiset_log_probs
from permparse.parsers.parse import Parse

Member = MultisetPermutationParser
Proposers = Mapping[int, Parse]
"""The parse with one and the same output of every member that proposes it, by the number of the member."""


@dataclass(frozen=True)
class Judgement:
    """What one member makes of an output, in its own notation: the tokens in alphabetical order, log P(multiset | x) by
    the count recursion, how badly the output reads, and what its counts cost."""

    multiset: tuple[str, ...]
    log_prob: float
    surprise: float
    cost: float


@dataclass(frozen=True)
class Proposal:
    """An output, who proposes it, and what every member makes of it."""

    output: str
    proposers: Proposers
    judgements: tuple[Judgement, ...]

    def score(self, surprise_weight: float) -> float:
        """Σ log P(multiset | x) over the members - weight · surprise - cost, the mean of what both are to each of them,
        and less where all who propose it strain to order it."""
        against = fmean(surprise_weight * judgement.surprise + judgement.cost for judgement in self.judgements)
        weakest = max(parse.weakest_jump for parse in self.proposers.values())
        return sum(judgement.log_prob for judgement in self.judgements) - against - strain(weakest)

    @property
    def multiset(self) -> tuple[tuple[str, ...], ...]:
        """Outputs that agree in it differ in the order of their tokens alone."""
        return tuple(judgement.multiset for judgement in self.judgements)

    @property
    def support(self) -> tuple[int, float]:
        """What decides between orders of one multiset: how many members propose it, and how probable its jumps are."""
        return len(self.proposers), max(parse.order_log_prob for parse in self.proposers.values())


def pooled(candidates: Iterable[Sequence[Parse]]) -> dict[str, Proposers]:
    """Every output among the candidates of the members, likeliest first each, with who proposes it."""
    pool: dict[str, dict[int, Parse]] = {}
    for number, parses in enumerate(candidates):
        for parse in parses:
            pool.setdefault(parse.output, {}).setdefault(number, parse)
    return dict(pool)


def judged(
    members: Sequence[Member],
    sources: Sequence[Sequence[str]],
    pools: Sequence[Mapping[str, Proposers]],
) -> list[list[Proposal]]:
    """The outputs in the pool of every sentence, each judged by all members.

    One pass of every member's tagger over all outputs of all sentences.
    """
    judgements = [_judgements(member, n, sources, pools) for n, member in enumerate(members)]
    return [
        [Proposal(output, proposers, tuple(of[i][output] for of in judgements)) for output, proposers in pool.items()]
        for i, pool in enumerate(pools)
    ]


def chosen(proposals: Sequence[Proposal], surprise_weight: float) -> Proposal:
    """The proposal with the highest score, where every multiset stands in the order that has most support."""
    in_best_order: dict[tuple[tuple[str, ...], ...], Proposal] = {}
    for proposal in proposals:
        known = in_best_order.setdefault(proposal.multiset, proposal)
        if proposal.support > known.support:
            in_best_order[proposal.multiset] = proposal
    return max(in_best_order.values(), key=lambda proposal: proposal.score(surprise_weight))


def _judgements(
    member: Member,
    number: int,
    sources: Sequence[Sequence[str]],
    pools: Sequence[Mapping[str, Proposers]],
) -> list[dict[str, Judgement]]:
    """What one member makes of every output, sentence by sentence."""
    codec = member.codec
    sentences = [codec.encode(words) for words in sources]
    targets = [
        {output: _tokens(member, output, proposers.get(number)) for output, proposers in pool.items()} for pool in pools
    ]
    # Several outputs are orders of one multiset.
    multisets = [{tuple(sorted(tokens)) for tokens in of.values()} for of in targets]
    pairs = [(i, multiset) for i, of in enumerate(multisets) for multiset in of]
    encoded = EncodedExamples([sentences[i] for i, _ in pairs], [list(multiset) for _, multiset in pairs])
    log_probs = dict(zip(pairs, multiset_log_probs(codec, member.tagger, encoded).tolist(), strict=True))
    found = []
    for i, of in enumerate(targets):
        # What the member cannot produce must not be likelier than what it can.
        least = min(
            [HOPELESS, *(log_probs[i, multiset] for multiset in multisets[i] if log_probs[i, multiset] > -np.inf)]
        )
        row = {}
        for output, tokens in of.items():
            multiset = tuple(sorted(tokens))
            surprise = codec.trigrams.surprise(codec.pattern(tokens, sentences[i]))
            cost = codec.relations.cost(multiset)
            row[output] = Judgement(multiset, max(least, log_probs[i, multiset]), surprise, cost)
        found.append(row)
    return found


def _tokens(member: Member, output: str, own: Parse | None) -> list[str]:
    """An output in the notation of a member: as the member wrote it, or as it would have been written for training."""
    if own is not None:
        return member.compared(own.tokens)
    return member.codec.target(member.task.example("", output))
