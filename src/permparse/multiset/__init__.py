"""Multisets of tokens: count recursion over positions, most likely counts, canonical order. Needs torch and numpy."""

from permparse.multiset.canonical import CanonicalMultiset, canonical_multiset
from permparse.multiset.n_best import CountLattice, count_lattices, log_normalisers
from permparse.multiset.recursion import log_total_probability, most_likely_counts

__all__ = [
    "CanonicalMultiset",
    "CountLattice",
    "canonical_multiset",
    "count_lattices",
    "log_normalisers",
    "log_total_probability",
    "most_likely_counts",
]
