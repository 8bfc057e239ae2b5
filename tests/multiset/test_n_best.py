import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiset.oracles_multiset import enumerated_n_best
from permparse.multiset import n_best_counts


def random_log_probs(seed: int, shape: tuple[int, int, int]) -> np.ndarray:
    weights = np.random.default_rng(seed).dirichlet(np.ones(shape[2]), shape[:2])
    return np.log(weights)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 80))
def test_n_best_equals_enumeration(seed, positions, symbols, max_count, n):
    log_probs = random_log_probs(seed, (positions, symbols, max_count + 1))
    found = n_best_counts(log_probs, n)
    expected = enumerated_n_best(log_probs)[:n]
    np.testing.assert_allclose([log_prob for _, log_prob in found], expected)
    for counts, log_prob in found:
        assert np.take_along_axis(log_probs, counts[..., None], 2).sum() == pytest.approx(log_prob)
    assert len({counts.tobytes() for counts, _ in found}) == len(found)


def test_impossible_counts_are_never_offered():
    log_probs = np.array([[[0.0, -np.inf]], [[np.log(0.75), np.log(0.25)]]])
    assert [counts[:, 0].tolist() for counts, _ in n_best_counts(log_probs, 9)] == [[0, 0], [0, 1]]


def test_a_sentence_without_words_has_one_multiset():
    assert len(n_best_counts(np.zeros((0, 3, 2)), 5)) == 1


def test_n_must_be_positive():
    with pytest.raises(ValueError, match="n: expected at least 1"):
        n_best_counts(np.zeros((1, 1, 2)), 0)
