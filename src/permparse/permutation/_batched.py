"""A padded batch solved in torch, on any device: plain sweeps, or accelerated and cooled as on the CPU.

Every example has its own temperatures, history and end, so that a batch gives what its examples give one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from permparse.permutation._batched_anderson import History
from permparse.permutation._cooling import COOLING, WARM_SPREAD, WARM_SWEEPS, WARM_TOLERANCE
from permparse.permutation._sweeps import (
    Cells,
    State,
    chosen,
    marginals,
    previous_row,
    residual,
    scaled_scores,
    start_at_zero,
    sweep,
)
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution

CHECK_PERIOD = 5


class Found(NamedTuple):
    """Where the sweeps ended. *Shapes:* residual and sweeps [B]."""

    state: State
    residual: Tensor
    sweeps: Tensor


def solve_plainly(problem: JumpProblem, temperature: Tensor, tolerance: float, max_sweeps: int) -> Solution:
    """Sweep the whole batch until every example's residual is at most ``tolerance``, or ``max_sweeps`` times.

    The paper's method, differentiable by unrolling."""
    cells = Cells.of(problem)
    jump, position = scaled_scores(problem, temperature)
    state = start_at_zero(position)
    sweeps = torch.full_like(cells.feasible, max_sweeps, dtype=torch.int64)
    worst = torch.zeros_like(temperature)
    for count in range(1, max_sweeps + 1 if problem.jump.numel() else 1):
        state = sweep(state, jump, position, cells)
        if count % CHECK_PERIOD == 0 or count == max_sweeps:
            with torch.no_grad():
                worst = residual(state, jump, cells)
                done = ~cells.feasible | (worst <= tolerance)
                sweeps = torch.where(done, sweeps.clamp(max=count), sweeps)
                if bool(done.all()):
                    break
    return as_solution(problem, temperature, jump, cells, Found(state, worst, sweeps), tolerance)


def solve_accelerated(
    problem: JumpProblem, temperature: Tensor, tolerance: float, max_sweeps: Tensor, memory: int, cooling: bool
) -> tuple[Solution, Tensor]:
    """The same with Anderson acceleration and, where scores / τ are large, through higher temperatures first.

    ``max_sweeps`` [B]. Also returns the row scales [B, i]."""
    cells = Cells.of(problem)
    jump, position = scaled_scores(problem, temperature)
    spread, out_of = _balance(jump, position, cells)
    warmer = torch.zeros_like(max_sweeps)
    if cooling:
        warmer = (spread.clamp(min=WARM_SPREAD) / WARM_SPREAD).log().div(math.log(COOLING)).ceil().long()
    hottest = int(warmer.max()) if len(warmer) else 0
    first = COOLING ** -warmer.to(jump.dtype)
    state = start_at_zero(position)
    state = state._replace(beta=previous_row(-(first[:, None] * out_of)[:, None, :].expand_as(position)))
    found = Found(state, torch.full_like(temperature, torch.inf), torch.zeros_like(max_sweeps))
    for stage in range(hottest if problem.jump.numel() else -1, -1, -1):
        scale = (COOLING ** -warmer.clamp(max=stage).to(jump.dtype))[:, None, None]
        left = max_sweeps - found.sweeps
        # The last stage always has a sweep left, so that there is a result even if the warm-up used up the budget.
        budget = left.clamp(max=WARM_SWEEPS) if stage else left.clamp(min=1)
        budget = torch.where(cells.feasible & (warmer >= stage), budget, 0)
        goal = tolerance if stage == 0 else max(WARM_TOLERANCE, tolerance)
        found = _sweep_until(found, scale * jump, scale * position, cells, goal, budget, memory)
        if stage:
            growth = torch.where(warmer >= stage, COOLING, 1.0).to(jump.dtype)
            state = found.state
            found = found._replace(
                state=state._replace(log_row=growth[:, None] * state.log_row, beta=growth[:, None, None] * state.beta)
            )
    return as_solution(problem, temperature, jump, cells, found, tolerance), found.state.log_row


def _sweep_until(
    found: Found, jump: Tensor, position: Tensor, cells: Cells, tolerance: float, budget: Tensor, memory: int
) -> Found:
    """Accelerated sweeps of the examples with a ``budget`` [B] until it is used up or the tolerance is met."""
    history = History.empty(memory, found.state.log_row, found.state.beta)
    state, at, worst, sweeps = found.state, found.state, found.residual, found.sweeps
    active, count = budget > 0, 0
    while bool(active.any()):
        for _ in range(CHECK_PERIOD):
            running = active & (budget > count)
            image = chosen(running, sweep(at, jump, position, cells), state)
            sweeps, count = sweeps + running, count + 1
            log_row, beta = history.next(at, image, previous_row(image.log_u.masked_fill(~cells.support, -torch.inf)))
            at = chosen(running, image._replace(log_row=log_row, beta=beta), at)
            state = image
        worst = torch.where(active, residual(state, jump, cells), worst)
        active = active & (worst > tolerance) & (budget > count)
    return Found(state, worst, sweeps)


def _balance(jump: Tensor, position: Tensor, cells: Cells) -> tuple[Tensor, Tensor]:
    """The spread [B] of the scores once the best jump into and out of each token and the best cell of each position are
    0, and the best jump out of each token [B, k]: with β at its negative, sweeps start from balanced scores."""
    if not jump.numel():
        return jump.new_zeros(len(jump)), jump.new_zeros(jump.shape[:2])
    tokens = cells.support.any(1)
    used = tokens[:, :, None] & tokens[:, None, :] & ~jump.isneginf()
    free = jump.masked_fill(~used, -torch.inf)
    into = _finite(free.amax(1))
    out_of = _finite((free - into[:, None, :]).amax(2))
    gaps = torch.where(used, into[:, None, :] + out_of[:, :, None] - free, 0.0).amax((1, 2))
    place = torch.where(cells.has_previous, position, position - into[:, None, :])
    place = torch.where(cells.has_next, place, place - out_of[:, None, :]).masked_fill(~cells.support, -torch.inf)
    place = torch.where(cells.support, _finite(place.amax(2))[:, :, None] - place, 0.0).amax((1, 2))
    return torch.maximum(gaps, place), out_of


def _finite(x: Tensor) -> Tensor:
    return torch.where(x.isfinite(), x, 0.0)


def as_solution(
    problem: JumpProblem, temperature: Tensor, jump: Tensor, cells: Cells, found: Found, tolerance: float
) -> Solution:
    """What was found, token-major, and -inf outside the support."""
    state, feasible = found.state, cells.feasible
    inside = cells.support & feasible[:, None, None]
    log_u = torch.where(inside, state.log_u, -torch.inf)
    alpha = torch.where(inside & cells.has_previous, state.alpha, -torch.inf)
    beta = torch.where(previous_row(inside) & cells.has_previous, state.beta, -torch.inf)
    empty = problem.lengths == 0
    worst = torch.where(empty, 0.0, found.residual)
    return Solution(
        problem=problem,
        temperature=temperature,
        log_u=log_u.transpose(1, 2),
        alpha=alpha.transpose(1, 2),
        beta=beta.transpose(1, 2),
        jump_marginals=torch.where(feasible[:, None, None], marginals(state, jump, cells), 0.0),
        value=torch.where(feasible, state.value, -torch.inf),
        residual=torch.where(feasible, worst, torch.inf),
        sweeps=torch.where(feasible & ~empty, found.sweeps, 0),
        converged=feasible & (worst <= tolerance),
        feasible=feasible,
    )
