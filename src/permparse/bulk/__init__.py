"""Files of millions of sentences, parsed by many workers: `permparse parse --cluster`."""

from permparse.bulk.run import parse_file

__all__ = ["parse_file"]
