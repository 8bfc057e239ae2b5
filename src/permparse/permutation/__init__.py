"""The relaxed jump permutation: a layer that orders tokens, usable alone.

Needs torch, numpy, scipy and numba only, and knows nothing of words or models.
"""

from permparse.permutation.decoding import Decoded, decode, k_best, round_permutation
from permparse.permutation.layer import JumpPermutation, RelaxedPermutation, relaxed_permutation
from permparse.permutation.loss import permutation_loss
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution
from permparse.permutation.solver import BregmanSolver
from permparse.permutation.temperature import Temperature

__all__ = [
    "BregmanSolver",
    "Decoded",
    "JumpPermutation",
    "JumpProblem",
    "RelaxedPermutation",
    "Solution",
    "Temperature",
    "decode",
    "k_best",
    "permutation_loss",
    "relaxed_permutation",
    "round_permutation",
]
