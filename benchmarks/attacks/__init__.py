"""Attacks on permparse, one file each; `benchmarks/robustness.py` runs them and counts what holds."""
