"""The n best multisets against enumeration, sentence by sentence and in batches."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from multiset.oracles_multiset import enumerated_n_best
from permparse.multiset import count_lattices


def random_logits(seed: int, positions: int, max_count: int, symbols: int) -> torch.Tensor:
    """Logits of counts 1..K of one sentence. *Shape:* [m, K, V]."""
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn((positions, max_count, symbols), generator=generator, dtype=torch.float64)


def log_probs_of(logits: torch.Tensor) -> np.ndarray:
    """*Shape:* [m, K, V] -> [m, V, K+1]."""
    return torch.nn.functional.pad(logits.transpose(-1, -2), (1, 0)).log_softmax(-1).numpy()


def lattice(logits: torch.Tensor, n: int):
    return count_lattices(logits[None], torch.ones((1, len(logits)), dtype=torch.bool), n)[0]


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(1, 80))
def test_n_best_equals_enumeration(seed, positions, symbols, max_count, n):
    logits = random_logits(seed, positions, max_count, symbols)
    log_probs = log_probs_of(logits)
    found = list(lattice(logits, n).n_best(n))
    np.testing.assert_allclose([log_prob for _, log_prob in found], enumerated_n_best(log_probs)[:n])
    for counts, log_prob in found:
        assert np.take_along_axis(log_probs, counts[..., None], 2).sum() == pytest.approx(log_prob)
    assert len({counts.tobytes() for counts, _ in found}) == len(found)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 12))
def test_padding_equals_slicing(seed, lengths, n):
    logits = torch.stack([random_logits(seed + b, 5, 2, 3) for b in range(len(lengths))])
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    for b, (padded, length) in enumerate(zip(count_lattices(logits, mask, n), lengths, strict=True)):
        alone = list(lattice(logits[b, :length], n).n_best(n))
        together = list(padded.n_best(n))
        assert [counts.tolist() for counts, _ in together] == [counts.tolist() for counts, _ in alone]
        np.testing.assert_allclose([p for _, p in together], [p for _, p in alone])


def test_impossible_counts_are_never_offered():
    logits = torch.tensor([[[-torch.inf]], [[-np.log(3.0)]]], dtype=torch.float64)
    assert [counts[:, 0].tolist() for counts, _ in lattice(logits, 9).n_best(9)] == [[0, 0], [0, 1]]


def test_a_sentence_without_words_has_one_multiset():
    assert len(list(lattice(torch.zeros((0, 1, 3)), 5).n_best(5))) == 1


def test_n_must_be_positive():
    with pytest.raises(ValueError, match="n: expected at least 1"):
        lattice(torch.zeros((1, 1, 2)), 0)
