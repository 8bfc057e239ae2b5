"""Batches cover everything once, alike in length, and follow from seed and epoch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from permparse.base.batching import PADDING, bucketed, sorted_batches, spread

lengths = st.lists(st.integers(0, 60), min_size=1, max_size=200)


@given(lengths, st.integers(1, 20), st.integers(0, 3), st.integers(0, 3))
def test_every_example_is_in_one_batch(sizes, batch, seed, epoch) -> None:
    for batches in (bucketed(sizes, batch, seed, epoch), sorted_batches(sizes, batch)):
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(sizes)))
        assert max(map(len, batches)) <= batch


def test_batches_are_a_function_of_seed_and_epoch() -> None:
    sizes = list(range(5, 40)) * 5
    same = [bucketed(sizes, 8, 1, 2) for _ in range(2)]
    other = bucketed(sizes, 8, 1, 3)
    assert all(np.array_equal(a, b) for a, b in zip(*same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(same[0], other, strict=True))


def test_lengths_in_a_batch_are_similar() -> None:
    sizes = np.random.default_rng(0).integers(5, 50, 2000)
    widths = [np.ptp(sizes[batch]) for batch in bucketed(sizes, 32, 0, 0)]
    assert np.mean(widths) < 10


def test_long_examples_come_in_small_batches() -> None:
    assert all(len(batch) == 1 for batch in sorted_batches([1000] * 5, 64))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90)), min_size=1, max_size=200), st.integers(1, 64))
def test_batches_hold_little_padding(sizes, batch) -> None:
    tokens, words = np.array(sizes).T
    batches = sorted_batches(tokens.tolist(), batch, others=words.tolist())
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(sizes)))
    for of in batches:
        padding = sum(len(of) * lengths[of].max() - lengths[of].sum() for lengths in (tokens, words))
        assert padding <= PADDING


@given(st.integers(0, 500), st.integers(0, 50))
def test_a_spread_sample_reaches_both_ends(count, wanted) -> None:
    chosen = spread(count, wanted)
    assert len(set(chosen.tolist())) == len(chosen) <= max(count, 0)
    if wanted > 1 and count > 1:
        assert chosen[0] == 0
        assert chosen[-1] == count - 1
