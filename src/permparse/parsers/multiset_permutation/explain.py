"""The scores behind a parse: the probability of each multiset and jump, U*, its jump marginals, and doubts in words.

The sentence is parsed again on its own, so that each stage is timed for this sentence alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch

from permparse.base.threads import one_thread
from permparse.multiset import CanonicalMultiset
from permparse.nn import JumpScorer, MultisetTagger, sentence_batch
from permparse.parsers.explanation import Doubt, Explanation, Matrix, rounded
from permparse.parsers.multiset_permutation.codec import LEX_ID, VAR_ID, Codec, EncodedSentence
from permparse.parsers.multiset_permutation.order import OrderDecoder, jump_log_probs, jump_problem, within_rules
from permparse.parsers.parse import Parse
from permparse.permutation import BregmanSolver, JumpProblem
from permparse.text import UNKNOWN

DOUBTFUL = 0.9
"""Choices less probable than this are named as doubts."""
MOST_DRAWN = 80
"""Tokens up to which U* and the marginals are part of an explanation."""
SURPRISING = 1.0
TIMES = ("not at all", "once", "twice")


@dataclass(frozen=True)
class Explainer:
    """The two networks and the decoder of a parser."""

    codec: Codec
    tagger: MultisetTagger
    scorer: JumpScorer
    decoder: OrderDecoder

    @torch.no_grad()
    def explain(self, parse: Parse) -> Explanation:
        """Everything known about one parse of the parser that these networks belong to."""
        seconds: dict[str, float] = {}
        clock = _Clock(seconds)
        sentence = self.codec.encode(parse.words[:-1] if self.codec.task.end_token else parse.words)
        clock.stop("read")
        with one_thread():
            log_probs = self.tagger.log_probs(sentence_batch([sentence]).to(self.tagger.device))[0].double().cpu()
        clock.stop("tag")
        multiset = self.codec.multiset_of(parse.multisets, sentence)
        tagging = _WordChoices(self.codec, sentence, _counts(multiset, log_probs.shape[:2]), log_probs.exp().numpy())
        doubts = [*_unknown_words(self.codec, sentence), *tagging.doubts()]
        if not len(multiset):
            return Explanation(tagging.word_probs(), (), (), (), True, tuple(doubts), seconds)
        clock = _Clock(seconds)
        with one_thread():
            problem = jump_problem(self.scorer, [sentence], [multiset])
            tokens = self.codec.tokens(multiset, sentence)
            problem = within_rules(problem, [(tokens, multiset)], self.codec.ruled_out)
        clock.stop("score jumps")
        self.decoder(problem)
        clock.stop("order")
        u, marginals, converged = _relaxed(problem)
        clock.stop("relax")
        doubts += [*_jump_doubts(problem, parse), *_output_doubts(parse)]
        steps = np.exp(jump_log_probs(problem, [parse.order])[0]).tolist()
        return Explanation(
            tagging.word_probs(), tuple(round(p, 4) for p in steps), u, marginals, converged, tuple(doubts), seconds
        )


class _Clock:
    """Writes down how long each stage took."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.start = seconds, perf_counter()

    def stop(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage] = round(now - self.start, 6)
        self.start = now


@dataclass(frozen=True)
class _WordChoices:
    """The counts chosen for each word, among their alternatives. *Shapes:* counts [m, V], probs [m, V, K+1]."""

    codec: Codec
    sentence: EncodedSentence
    counts: np.ndarray
    probs: np.ndarray

    def word_probs(self) -> tuple[float, ...]:
        """The probability of the multiset of each word."""
        chosen = np.where(self._possible(), self._chosen(), 1.0)
        return tuple(round(float(p), 4) for p in chosen.prod(axis=1))

    def doubts(self) -> Iterator[Doubt]:
        """The cells whose count was hardly more probable than another."""
        chosen = self._chosen()
        for i, v in zip(*np.nonzero(self._possible() & (chosen < DOUBTFUL)), strict=True):
            others = self.probs[i, v].copy()
            count = int(self.counts[i, v])
            others[count] = 0.0
            rival = int(others.argmax())
            token, word = self._token(int(i), int(v)), self.sentence.positions[i]
            message = (
                f"“{word}” gives “{token}” {_times(count)} ({chosen[i, v]:.0%}), "
                f"or {_times(rival)} ({others[rival]:.0%})"
            )
            yield Doubt("multiset", int(i), message)

    def _chosen(self) -> np.ndarray:
        counts = np.minimum(self.counts, self.probs.shape[2] - 1)
        return np.take_along_axis(self.probs, counts[..., None], axis=2)[..., 0]

    def _possible(self) -> np.ndarray:
        """Cells that can produce something: the lexicon knows the word, the task has variables."""
        possible = np.ones(self.counts.shape, dtype=bool)
        possible[[token is None for token in self.sentence.lexical], LEX_ID] = False
        possible[:, VAR_ID] &= self.codec.variables
        return possible

    def _token(self, position: int, symbol: int) -> str:
        one = CanonicalMultiset(np.array([symbol]), np.array([position]), np.array([0]))
        return self.codec.tokens(one, self.sentence)[0]


def _counts(multiset: CanonicalMultiset, shape: Sequence[int]) -> np.ndarray:
    counts = np.zeros(tuple(shape), dtype=np.int64)
    np.add.at(counts, (multiset.source_index, multiset.symbols), 1)
    return counts


def _unknown_words(codec: Codec, sentence: EncodedSentence) -> Iterator[Doubt]:
    for i in np.nonzero(sentence.ids == codec.words.id(UNKNOWN))[0].tolist():
        yield Doubt("unknown", i, f"“{sentence.positions[i]}” is not among the words of the training data")


def _relaxed(problem: JumpProblem) -> tuple[Matrix, Matrix, bool]:
    """U*, its jump marginals and whether the solver converged."""
    if problem.size > MOST_DRAWN:
        return (), (), True
    solution = BregmanSolver().solve(problem)
    u, marginals = rounded(solution.u[0].tolist()), rounded(solution.jump_marginals[0].tolist())
    return u, marginals, bool(solution.converged[0])


def _jump_doubts(problem: JumpProblem, parse: Parse) -> Iterator[Doubt]:
    """Jumps after which another token was nearly as probable; copies of the same token count as one."""
    if problem.position is not None:  # there are no jumps
        return
    order, n = parse.order, len(parse.order)
    surface = dict(zip(order, parse.tokens, strict=True))
    jump = problem.jump[0, :n, :n].detach().double().clone()
    jump.fill_diagonal_(-torch.inf)
    probs = jump.softmax(1).cpu().numpy()
    for j in range(1, n):
        found: dict[str, float] = {}
        for i in range(n):
            found[surface[i]] = found.get(surface[i], 0.0) + float(probs[order[j - 1], i])
        token = parse.tokens[j]
        if found[token] < DOUBTFUL:
            rival = max((other for other in found if other != token), key=lambda other: found[other])
            choice = f"“{token}” ({found[token]:.0%}), or “{rival}” ({found[rival]:.0%})"
            yield Doubt("jump", j, f"after “{parse.tokens[j - 1]}” comes {choice}")


def _output_doubts(parse: Parse) -> Iterator[Doubt]:
    if not parse.proven_optimal:
        yield Doubt("order", -1, "the search could not prove that no other order has a better score")
    if parse.surprise > SURPRISING and parse.confidence < DOUBTFUL:
        yield Doubt("output", -1, "the output reads unlike the outputs of the training data")


def _times(count: int) -> str:
    return TIMES[count] if count < len(TIMES) else f"{count} times"
