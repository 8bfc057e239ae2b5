"""Compile every kernel now, so that no later call has to: what `permparse warmup` runs after installation."""

from __future__ import annotations

import torch

from permparse.permutation.decoding import decode, k_best
from permparse.permutation.loss import checked_permutation_loss
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solver import BregmanSolver

SIZE = 13
"""Beyond the dynamic programming of the decoders, so that all of them have something to do."""


def compile_kernels() -> None:
    """Solve small problems of every kind: smooth and extreme scores, free and restricted, symmetric and not."""
    generator = torch.Generator().manual_seed(0)
    jump = torch.randn(1, SIZE, SIZE, generator=generator)
    ends = torch.randn(2, 1, SIZE, generator=generator)
    smooth = JumpProblem(ends[0], jump, ends[1])
    # Paths through points of a plane: symmetric scores, which no bound settles at once.
    points = torch.rand(SIZE, 2, generator=generator)
    symmetric = JumpProblem(ends[0], -torch.cdist(points, points)[None], ends[1])
    placed = JumpProblem(ends[0], jump, ends[1], position=jump)
    extreme = JumpProblem(1e4 * ends[0], 1e4 * jump, 1e4 * ends[1])
    half = torch.arange(SIZE) // 2
    for problem in (smooth, extreme):
        checked_permutation_loss(problem, (half[:, None] == half)[None])
    decode(smooth, "hungarian", log_u=BregmanSolver().solve(smooth).log_u)
    decode(symmetric)
    decode(symmetric, nodes=0, kicks=2)
    for problem in (smooth, symmetric, placed):
        k_best(problem, 3)
        decode(problem, "exact", nodes=400)
