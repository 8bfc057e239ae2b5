"""Confidence: a probability that grows with what the stages think of an output."""

import numpy as np
import pytest

from permparse.parsers.multiset_permutation.confidence import Calibration, fit


def _sample(count: int, seed: int = 0) -> tuple[list[tuple[float, float, float, float]], list[bool]]:
    random = np.random.default_rng(seed)
    rows = -random.exponential(2.0, (count, 3)) * random.uniform(0, 2, (count, 1))
    chance = 1 / (1 + np.exp(-(3 - np.sqrt(-rows[:, 0]) - 1.5 * np.sqrt(-rows[:, 2]))))
    return [(a, b, c, random.exponential()) for a, b, c in rows.tolist()], (random.random(count) < chance).tolist()


def test_confidence_is_calibrated_on_fresh_examples() -> None:
    calibration = fit(*_sample(3000))
    rows, right = _sample(3000, seed=1)
    confidences = np.array([calibration.confidence(*row) for row in rows])
    for low, high in [(0.0, 0.5), (0.5, 0.8), (0.8, 1.0)]:
        chosen = (confidences >= low) & (confidences < high)
        assert np.mean(np.array(right)[chosen]) == pytest.approx(confidences[chosen].mean(), abs=0.05)


def test_doubt_never_raises_confidence() -> None:
    rows, right = _sample(200)
    calibration = fit(rows, [not r for r in right])
    assert all(weight >= 0 for weight in calibration.weights)


def test_an_all_right_set_stays_below_certainty() -> None:
    rows, _ = _sample(100)
    calibration = fit(rows, [True] * 100)
    assert 0.9 < calibration.confidence(-1e-4, -1e-4, -1e-4, 0.0) < 1


def test_nothing_to_fit_on_gives_no_opinion() -> None:
    assert fit([], []) == Calibration()
    assert Calibration().confidence(-1.0, -1.0, -1.0, 1.0) == 0.5
