"""Decoding: the order with the best score, how good it is known to be, and the next best ones.

`decode` and `k_best` are the entry points; `round_permutation` is the paper's rounding of U*.
"""

from permparse.permutation.decoding.dispatch import Method, decode
from permparse.permutation.decoding.hungarian import round_permutation
from permparse.permutation.decoding.ranking import k_best
from permparse.permutation.decoding.result import Decoded

__all__ = ["Decoded", "Method", "decode", "k_best", "round_permutation"]
