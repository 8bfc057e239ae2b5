"""Sequence-to-sequence parsers: what one would use instead of ours, behind the same interface."""
