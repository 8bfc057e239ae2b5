"""Decoding: the order with the best score, how good it is known to be, and the next best ones.

`decode` and `k_best` are the entry points. To compare with: `round_permutation`, the paper's rounding of U*, and
`beam_orders`, a plain beam search.
"""

from permparse.permutation.decoding.beam import beam_orders
from permparse.permutation.decoding.dispatch import Method, decode
from permparse.permutation.decoding.hungarian import round_permutation
from permparse.permutation.decoding.ranking import k_best
from permparse.permutation.decoding.result import Decoded

__all__ = ["Decoded", "Method", "beam_orders", "decode", "k_best", "round_permutation"]
