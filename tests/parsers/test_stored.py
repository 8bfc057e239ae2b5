"""Damaged files of saved parsers."""

from __future__ import annotations

import json

import pytest

from permparse.base.errors import UserError
from permparse.parsers.multiset_permutation.stored import check_codec


@pytest.mark.parametrize(
    "kinds",
    [None, [], {"known": ["cake"]}, {"known": {"cake": 1}}, {"usual": {"<word>": None}}, {"known": {"a\x1b": "b"}}],
)
def test_kinds_of_tokens_that_are_none_are_refused(kinds):
    with pytest.raises(UserError, match=r"codec\.json: damaged"):
        check_codec(json.dumps({"kinds": kinds}).encode(), "codec.json")


@pytest.mark.parametrize("kinds", [{}, {"kinds": {}}, {"kinds": {"known": {"cake": "<word>"}, "usual": {}}}])
def test_parsers_with_kinds_and_older_ones_are_accepted(kinds):
    check_codec(json.dumps(kinds).encode(), "codec.json")
