"""Confidence: a probability that grows with what the stages think of an output."""

import numpy as np
import pytest

from permparse.parsers.multiset_permutation.confidence import Calibration, Evidence, corrupted, doubtful, fit, recentred


def _sample(count: int, seed: int = 0) -> tuple[list[Evidence], list[bool]]:
    random = np.random.default_rng(seed)
    rows = -random.exponential(2.0, (count, 3)) * random.uniform(0, 2, (count, 1))
    chance = 1 / (1 + np.exp(-(3 - np.sqrt(-rows[:, 0]) - 1.5 * np.sqrt(-rows[:, 2]))))
    evidence = [Evidence(a, b, c, random.exponential(), 0.0, 0.0) for a, b, c in rows.tolist()]
    return evidence, (random.random(count) < chance).tolist()


def test_confidence_is_calibrated_on_fresh_examples() -> None:
    calibration = fit(*_sample(3000))
    rows, right = _sample(3000, seed=1)
    confidences = np.array([calibration.confidence(row) for row in rows])
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
    assert 0.9 < calibration.confidence(Evidence(-1e-4, -1e-4, -1e-4, 0.0, 0.0, 0.0)) < 1


def test_nothing_to_fit_on_gives_no_opinion() -> None:
    assert fit([], []) == Calibration()
    assert Calibration().confidence(Evidence(-1.0, -1.0, -1.0, 1.0, 0.5, 1.0)) == 0.5


def test_gibberish_lowers_confidence_although_all_is_right_on_dev() -> None:
    sure, gibberish = Evidence(-0.1, -0.1, -0.1, 0.0, 0.0, 0.0), Evidence(-9.0, -5.0, -3.0, 8.0, 1.0, 1.0)
    calibration = fit([sure] * 100 + [gibberish] * 50, [True] * 100 + [False] * 50)
    assert calibration.confidence(sure) > 0.95
    assert calibration.confidence(gibberish) < 0.05


def test_corrupted_sentences_follow_from_the_seed_and_are_of_three_kinds() -> None:
    sources = [[f"word{i}", "saw", f"word{i + 1}", "."] for i in range(60)]
    made = corrupted(sources, 3)
    assert made == corrupted(sources, 3) != corrupted(sources, 4)
    assert len(made) == 30
    known = {word for source in sources for word in source}
    assert sum(not set(words) & known for words in made) == 10


def test_a_calibration_of_version_0_1_still_counts() -> None:
    old = Calibration((1.0, 0.5, 0.2, 0.1), 2.0, 100)
    assert 0 < old.confidence(Evidence(-1.0, -1.0, -1.0, 1.0, 1.0, 1.0)) < 1


def test_corrupted_sentences_that_look_like_real_ones_do_not_count() -> None:
    sure, unsure = Evidence(-0.1, -0.1, -0.1, 0.0, 0.0, 0.0), Evidence(-9.0, -5.0, -3.0, 8.0, 0.0, 0.0)
    unknown = sure._replace(unknown_words=1.0)
    assert doubtful([sure, unsure, unknown], [sure] * 10) == [unsure, unknown]


def test_the_mean_confidence_on_held_out_sentences_is_the_share_of_right_ones() -> None:
    evidence, right = _sample(400)
    nonsense = [Evidence(-30.0, -9.0, -4.0, 9.0, 1.0, 1.0)] * 200
    fitted = fit([*evidence, *nonsense], [*right, *[False] * 200])
    calibration = recentred(fitted, evidence, right)
    mean = np.mean([calibration.confidence(row) for row in evidence])
    assert mean == pytest.approx(np.mean(right), abs=0.01)
    assert calibration.confidence(nonsense[0]) < 0.1
    assert recentred(fitted, [], []) == fitted
