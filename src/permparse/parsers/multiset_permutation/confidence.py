"""Confidence: the probability that an output is right, by logistic regression on the scores of both stages (Platt).

It is fitted on held-out sentences and on corrupted copies of them, whose outputs count as wrong, so that gibberish gets
a low confidence even if all held-out outputs are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt
from operator import mul
from typing import NamedTuple

import numpy as np

CORRUPTED = 0.5
"""Corrupted sentences for each held-out one."""
PLAUSIBLE = 0.25
"""Corrupted sentences that are surer than this share of the held-out ones may mean something, and do not count."""
RIDGE = 0.1


class Evidence(NamedTuple):
    """What the confidence in an output depends on: log P(multiset) less what its counts cost, log probability of the
    jumps and of the weakest one, how badly the output reads, the share of unknown words, and whether the order is not
    proven to be the best."""

    log_prob: float
    order_log_prob: float
    weakest_jump: float
    surprise: float
    unknown_words: float
    unproven: float

    @property
    def certainty(self) -> float:
        """How sure both stages are, all in all."""
        return self.log_prob + self.order_log_prob - self.surprise

    def features(self) -> list[float]:
        """Doubts as negative numbers, damped.

        The square root keeps long outputs, whose logs are sums over many tokens, on the scale of short ones.
        """
        doubts = (-self.log_prob, -self.order_log_prob, -self.weakest_jump, *self[3:])
        return [0.0 if doubt < 0 else -sqrt(doubt) for doubt in doubts]


@dataclass(frozen=True)
class Calibration:
    """``P(right) = sigmoid(weights · features + bias)``; fitted on ``examples`` examples (0: never fitted).

    A calibration of version 0.1 has four weights, for the first four features.
    """

    weights: tuple[float, ...] = (0.0,) * len(Evidence._fields)
    bias: float = 0.0
    examples: int = 0

    def confidence(self, evidence: Evidence) -> float:
        """The confidence in one output."""
        logit = sum(map(mul, self.weights, evidence.features()), self.bias)
        return 1 / (1 + exp(-min(max(logit, -50.0), 50.0)))


def fit(evidence: Sequence[Evidence], right: Sequence[bool]) -> Calibration:
    """Regularised logistic regression by Newton's method, with Platt's targets so that an all-right set stays below
    certainty."""
    if not evidence:
        return Calibration()
    count = len(Evidence._fields)
    design = np.column_stack([np.array([row.features() for row in evidence]), np.ones(len(evidence))])
    positive = int(np.sum(right))
    high, low = (positive + 1) / (positive + 2), 1 / (len(evidence) - positive + 2)
    goal = np.where(np.array(right), high, low)
    penalty = np.array([RIDGE] * count + [1e-6])
    weights = np.zeros(count + 1)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -50, 50)))
        gradient = design.T @ (p - goal) + penalty * weights
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalty + 1e-9)
        change = np.linalg.solve(curvature, gradient)
        weights -= np.clip(change, -2, 2)
        if np.abs(change).max() < 1e-9:
            break
    # More doubt must never raise the confidence, whatever a small dev set suggests.
    return Calibration(tuple(np.maximum(0.0, weights[:-1]).tolist()), float(weights[-1]), len(evidence))


def recentred(calibration: Calibration, held_out: Sequence[Evidence], right: Sequence[bool]) -> Calibration:
    """The calibration with its bias moved so that the mean confidence on held-out sentences is the share of right ones.

    Corrupted sentences tell which doubts count; how sure to be on real ones, these tell alone.
    """
    if not held_out:
        return calibration
    wanted = (sum(right) + 1) / (len(right) + 2)
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        moved = replace(calibration, bias=middle)
        below = float(np.mean([moved.confidence(evidence) for evidence in held_out])) < wanted
        low, high = (middle, high) if below else (low, middle)
    return replace(calibration, bias=(low + high) / 2)


def doubtful(corrupted: Sequence[Evidence], held_out: Sequence[Evidence]) -> list[Evidence]:
    """The corrupted sentences that do not look like held-out ones: where any order of words means something, as in
    doubling a word, a sentence in disorder may be parsed rightly."""
    if not held_out:
        return list(corrupted)
    bound = float(np.quantile([evidence.certainty for evidence in held_out], PLAUSIBLE))
    return [evidence for evidence in corrupted if evidence.certainty < bound or evidence.unknown_words == 1.0]


def corrupted(sources: Sequence[Sequence[str]], seed: int) -> list[list[str]]:
    """Sentences that mean nothing: words in disorder, halves of two sentences, words that nobody knows, in turns."""
    random = np.random.default_rng(seed)
    count = round(CORRUPTED * len(sources))
    made = []
    for number, i in enumerate(random.permutation(len(sources))[:count].tolist()):
        words, others = list(sources[i]), list(sources[int(random.integers(len(sources)))])
        if number % 3 == 0:
            made.append([words[k] for k in random.permutation(len(words)).tolist()])
        elif number % 3 == 1:
            made.append([*others[len(others) // 2 :], *words[: len(words) // 2]] or words[::-1])
        else:
            made.append(
                ["".join(chr(97 + k) for k in random.integers(0, 26, len(word) + 2).tolist()) for word in words]
            )
    return [words for words in made if words]
