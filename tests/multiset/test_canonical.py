import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from permparse.multiset import canonical_multiset


def test_order_is_by_position_then_symbol_then_copy():
    counts = np.zeros((3, 4), dtype=np.int64)
    counts[2, 0], counts[0, 3], counts[0, 1], counts[2, 2] = 1, 1, 2, 1
    multiset = canonical_multiset(counts)
    assert multiset.symbols.tolist() == [1, 1, 3, 0, 2]
    assert multiset.source_index.tolist() == [0, 0, 0, 2, 2]
    assert multiset.copy_index.tolist() == [0, 1, 0, 0, 0]


@given(arrays(np.int64, st.tuples(st.integers(0, 4), st.integers(2, 5)), elements=st.integers(0, 3)))
def test_counting_the_tokens_gives_back_the_counts(counts):
    multiset = canonical_multiset(counts)
    again = np.zeros_like(counts)
    np.add.at(again, (multiset.source_index, multiset.symbols), 1)
    assert len(multiset) == counts.sum()
    assert (again == counts).all()
    assert (multiset.copy_index < counts[multiset.source_index, multiset.symbols]).all()


def test_empty_multiset_has_no_tokens():
    assert len(canonical_multiset(np.zeros((2, 3), dtype=np.int64))) == 0


def test_counts_must_be_integers():
    with pytest.raises(ValueError, match="counts: expected integers"):
        canonical_multiset(np.zeros((2, 3)))
