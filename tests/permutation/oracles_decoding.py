"""Oracles of the decoding tests: every order of a small problem, scored one by one, and generators of
problems.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import torch
from torch import Tensor

from permparse.permutation.problem import JumpProblem


def ranked_orders(problem: JumpProblem, b: int) -> list[tuple[float, tuple[int, ...]]]:
    """All orders of example b that ``allowed`` lets pass, with their scores, best first."""
    n = problem.sizes()[b]
    start, jump, end = (t[b].double().tolist() for t in (problem.start, problem.jump, problem.end))
    position = None if problem.position is None else problem.position[b].double().tolist()
    allowed = None if problem.allowed is None else problem.allowed[b].tolist()
    ranked = []
    for order in permutations(range(n)):
        if allowed is not None and not all(allowed[i][j] for j, i in enumerate(order)):
            continue
        score = 0.0
        if n:
            score += start[order[0]] + end[order[-1]]
        score += sum(jump[k][i] for k, i in pairwise(order))
        if position is not None:
            score += sum(position[i][j] for j, i in enumerate(order))
        ranked.append((score, order))
    return sorted(ranked, key=lambda entry: -entry[0])


def random_problem(
    batch: int,
    size: int,
    seed: int,
    *,
    kind: str = "random",
    lengths: list[int] | None = None,
    position: bool = False,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> JumpProblem:
    """Normally distributed scores: ``planted`` favours one order, ``symmetric`` jumps cost the same both
    ways, ``ties`` are scores from a few integers, ``duplicates`` gives pairs of tokens the same scores.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    start, jump, end = normal(batch, size), normal(batch, size, size), normal(batch, size)
    if kind == "planted":
        for b in range(batch):
            order = torch.randperm(size, generator=generator)
            jump[b, order[:-1], order[1:]] += 2.5
    elif kind == "symmetric":
        jump = jump + jump.transpose(1, 2)
    elif kind == "ties":
        start, jump, end = start.round(), jump.round(), end.round()
    elif kind == "duplicates":
        twin = torch.arange(size) // 2
        start, jump, end = start[:, twin], jump[:, twin][:, :, twin], end[:, twin]
    return JumpProblem(
        (start * scale).to(dtype),
        (jump * scale).to(dtype),
        (end * scale).to(dtype),
        None if lengths is None else torch.tensor(lengths),
        position=(normal(batch, size, size) * scale).to(dtype) if position else None,
    )


def random_allowed(batch: int, size: int, types: int, seed: int) -> Tensor:
    """Token i may stand where a hidden order has a token of its type, as the gold output restricts a
    parser's tokens.
    """
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(types, (batch, size), generator=generator)
    hidden = torch.stack([kinds[b, torch.randperm(size, generator=generator)] for b in range(batch)])
    return kinds[:, :, None] == hidden[:, None, :]
