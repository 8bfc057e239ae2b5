"""The relaxed jump permutation: a layer that orders tokens, usable alone.

Needs only torch, numpy, scipy, numba and jaxtyping, and knows nothing about words or models.
"""

from permparse.permutation.decoding import Decoded, decode, k_best, round_permutation
from permparse.permutation.layer import JumpPermutation, RelaxedPermutation, relaxed_permutation
from permparse.permutation.loss import CheckedLoss, UnconvergedWarning, checked_permutation_loss, permutation_loss
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution
from permparse.permutation.solver import BregmanSolver
from permparse.permutation.temperature import Temperature

__all__ = [
    "BregmanSolver",
    "CheckedLoss",
    "Decoded",
    "JumpPermutation",
    "JumpProblem",
    "RelaxedPermutation",
    "Solution",
    "Temperature",
    "UnconvergedWarning",
    "checked_permutation_loss",
    "decode",
    "k_best",
    "permutation_loss",
    "relaxed_permutation",
    "round_permutation",
]
