"""Confidence: the probability that an output is right, by logistic regression on what the two stages think
of it (Platt)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEATURES = 4


@dataclass(frozen=True)
class Calibration:
    """``P(right) = sigmoid(weights · features + bias)``; fitted on ``examples`` examples (0: never
    fitted)."""

    weights: tuple[float, ...] = (0.0,) * FEATURES
    bias: float = 0.0
    examples: int = 0

    def confidence(self, log_prob: float, path: float, weakest: float, surprise: float) -> float:
        """The confidence in one output; see `features`."""
        logit = float(features(log_prob, path, weakest, surprise) @ np.array(self.weights)) + self.bias
        return float(1 / (1 + np.exp(-np.clip(logit, -50, 50))))


def features(log_prob: float, path: float, weakest: float, surprise: float) -> np.ndarray:
    """What confidence depends on: log P(multiset), log probability of the jumps, and of the weakest jump, and how badly
    the output reads; damped.

    The square root keeps long outputs, whose logs are sums over many tokens, on the scale of short ones.
    """
    return -np.sqrt(np.maximum(0.0, -np.array([log_prob, path, weakest, -surprise])))


def fit(rows: Sequence[tuple[float, float, float, float]], right: Sequence[bool], ridge: float = 0.1) -> Calibration:
    """Regularised logistic regression by Newton's method, with Platt's targets so that an all-right set
    stays below certainty."""
    if not rows:
        return Calibration()
    design = np.column_stack([np.stack([features(*row) for row in rows]), np.ones(len(rows))])
    positive = int(np.sum(right))
    high = (positive + 1) / (positive + 2)
    low = 1 / (len(rows) - positive + 2)
    goal = np.where(np.array(right), high, low)
    penalty = np.array([ridge] * FEATURES + [1e-6])
    weights = np.zeros(FEATURES + 1)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -50, 50)))
        gradient = design.T @ (p - goal) + penalty * weights
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalty + 1e-9)
        change = np.linalg.solve(curvature, gradient)
        weights -= np.clip(change, -2, 2)
        if np.abs(change).max() < 1e-9:
            break
    # More doubt must never raise the confidence, whatever a small dev set suggests.
    return Calibration(tuple(np.maximum(0.0, weights[:-1]).tolist()), float(weights[-1]), len(rows))
