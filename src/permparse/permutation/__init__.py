"""The relaxed jump permutation: a layer that orders tokens, usable alone (torch, numpy, scipy and numba only)."""

from permparse.permutation.problem import JumpProblem

__all__ = ["JumpProblem"]
