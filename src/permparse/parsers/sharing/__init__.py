"""Trained parsers on their way to others: where they lie, packaged files and wheels, model cards, repositories."""
