"""Trained parsers on their way to others: where they are found, packaged files and wheels, model cards, repositories."""
