"""`permparse bench`: how fast the permutation layer is on this machine."""

from __future__ import annotations


def command() -> None:
    """Time the permutation layer beside the textbook algorithm on this machine."""
