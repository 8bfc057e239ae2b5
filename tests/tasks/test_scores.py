"""Freq, Seq and Seq/Freq."""

import math

import pytest

from permparse.tasks import Breakdown, breakdown, multiset_match


def test_breakdown():
    assert breakdown([True, True, False, True], [True, False, False, True]) == Breakdown(4, 0.75, 0.5, 2 / 3)


def test_an_output_may_be_right_without_its_multiset():
    assert breakdown([False, True], [True, True]).seq_given_freq == 1.0


def test_nothing_to_divide_by():
    assert math.isnan(breakdown([], []).freq)
    assert math.isnan(breakdown([False], [False]).seq_given_freq)


def test_as_many_verdicts():
    with pytest.raises(ValueError, match="one verdict per example"):
        breakdown([True], [])


def test_multisets_ignore_order_but_count():
    assert multiset_match(["a", "b", "a"], ["a", "a", "b"])
    assert not multiset_match(["a", "b"], ["a", "b", "b"])
