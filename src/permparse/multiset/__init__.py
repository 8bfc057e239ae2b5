"""Multisets of tokens: count recursion over positions, most likely counts under a total, canonical order."""

from permparse.multiset.canonical import CanonicalMultiset, canonical_multiset, producible, surface_tokens
from permparse.multiset.groups import (
    FIRST_TYPE,
    LEX,
    VAR,
    Group,
    TargetGroups,
    anchors,
    attributed,
    target_groups,
    unreachable,
)
from permparse.multiset.n_best import n_best_counts
from permparse.multiset.recursion import log_total_probability, most_likely_counts

__all__ = [
    "FIRST_TYPE",
    "LEX",
    "VAR",
    "CanonicalMultiset",
    "Group",
    "TargetGroups",
    "anchors",
    "attributed",
    "canonical_multiset",
    "log_total_probability",
    "most_likely_counts",
    "n_best_counts",
    "producible",
    "surface_tokens",
    "target_groups",
    "unreachable",
]
