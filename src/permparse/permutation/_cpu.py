"""One example at a time on the CPU: balance the scores, cool down if they are extreme, pick the domain, sweep.

Examples have their own length, their own stopping test and no padding; a batch is shared out to threads.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from permparse.permutation import _dense, _logdomain
from permparse.permutation._arrays import LARGEST_LOG, exp_scaled, fill, log, scaled
from permparse.permutation._cooling import COOLING, WARM_SPREAD, WARM_SWEEPS, WARM_TOLERANCE
from permparse.permutation._kernels import kernel
from permparse.permutation._support import total_support

INFEASIBLE = 3

LINEAR_SPREAD = 2000.0  # beyond, the linear domain is not even tried
CELL_COST, PAIR_COST = 100.0, 20.0  # nanoseconds of a sweep over a support, for each cell and pair of cells
DENSE_CELL_COST, DENSE_PAIR_COST = 6.0, 0.16  # and over all cells, in the linear domain


class Settings(NamedTuple):
    """What `BregmanSolver` passes down."""

    tolerance: float
    memory: int
    cooling: bool


class BatchResult(NamedTuple):
    """Arrays over a padded batch, float64: see `Solution` for the meaning and the shapes."""

    log_u: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    log_row: np.ndarray
    jump_marginals: np.ndarray
    value: np.ndarray
    residual: np.ndarray
    sweeps: np.ndarray
    status: np.ndarray


class Example(NamedTuple):
    """One example with n ≥ 2 tokens inside a total support; scores are divided by τ and balanced."""

    jump: np.ndarray
    """*Shape:* [k, i]. -inf on the diagonal."""
    position: np.ndarray
    """*Shape:* [j, i]."""
    support: np.ndarray
    """*Shape:* [i, j]."""
    tokens: np.ndarray
    """*Shape:* [j, n]. ``tokens[j, :sizes[j]]`` may stand at j."""
    sizes: np.ndarray
    """*Shape:* [j]."""


class State(NamedTuple):
    """Where the sweeps stand, in logarithms, and in the end what they found; updated in place."""

    log_row: np.ndarray
    """*Shape:* [i]."""
    alpha: np.ndarray
    """*Shape:* [j, i]."""
    beta: np.ndarray
    """*Shape:* [j, k]."""
    log_u: np.ndarray
    """*Shape:* [j, i]."""
    marginals: np.ndarray
    """*Shape:* [k, i]."""


class Workspace(NamedTuple):
    """Scores at the temperature of a stage (exponentials or logarithms), and factors in the linear domain."""

    kernel: np.ndarray
    weight: np.ndarray
    row_scale: np.ndarray
    a: np.ndarray
    b: np.ndarray


@kernel
def _balance(jump, position, support, into, out_of):
    """Shift scores so that the best jump into and out of each token and the best cell of each position are 0.

    The shifts move into the factors of W and the row and column scales, so the solution stays the same.
    Fills ``into`` [i] and ``out_of`` [k]; returns the total shift of the value and the spread of the scores.
    """
    n = jump.shape[0]
    value, spread = 0.0, 0.0
    for i in range(n):
        into[i] = -np.inf
        for k in range(n):
            if k != i:
                into[i] = max(into[i], jump[k, i])
        value += into[i]
    for k in range(n):
        out_of[k] = -np.inf
        for i in range(n):
            if k != i:
                jump[k, i] -= into[i]
                out_of[k] = max(out_of[k], jump[k, i])
        value += out_of[k]
        for i in range(n):
            jump[k, i] -= out_of[k]
            if k != i:
                spread = max(spread, -jump[k, i])
        jump[k, k] = -np.inf
    for j in range(n):
        top = -np.inf
        for i in range(n):
            if j == 0:
                position[j, i] -= into[i]
            if j == n - 1:
                position[j, i] -= out_of[i]
            if support[i, j]:
                top = max(top, position[j, i])
        value += top
        for i in range(n):
            position[j, i] -= top
            if support[i, j]:
                spread = max(spread, -position[j, i])
    return value, spread


@kernel
def _linear_marginals(kernel, a, b, out):
    """out[k, i] = Σ_j W_ijk = K[k, i] Σ_j a[j, i] b[j, k]."""
    np.dot(b[1:].T, a[1:], out)
    for k in range(out.shape[0]):
        for i in range(out.shape[0]):
            out[k, i] *= kernel[k, i]


@kernel
def _log_marginals(jump, alpha, beta, tokens, sizes, out):
    """out[k, i] = Σ_j W_ijk, from logarithms."""
    n = jump.shape[0]
    for j in range(1, n):
        for c in range(sizes[j - 1]):
            k = tokens[j - 1, c]
            for d in range(sizes[j]):
                i = tokens[j, d]
                log_w = jump[k, i] + alpha[j, i] + beta[j, k]
                if log_w > _logdomain.NEGLIGIBLE:
                    out[k, i] += math.exp(log_w)


@kernel
def _tokens_by_position(support):
    """The tokens that may stand at each position, how many they are, and whether sweeping over all cells is faster."""
    n = support.shape[0]
    tokens, sizes = np.empty((n, n), np.int64), np.zeros(n, np.int64)
    sparse_cost = 0.0
    for j in range(n):
        for i in range(n):
            if support[i, j]:
                tokens[j, sizes[j]] = i
                sizes[j] += 1
        sparse_cost += CELL_COST * sizes[j] + PAIR_COST * sizes[j] * sizes[max(j - 1, 0)]
    return tokens, sizes, DENSE_CELL_COST * n**2 + DENSE_PAIR_COST * n**3 < sparse_cost


@kernel
def _enter_linear_domain(example, work, state, scale):
    """Exponentials of the scores times ``scale`` and of the starting point."""
    n = example.jump.shape[0]
    exp_scaled(example.jump, scale, work.kernel)
    exp_scaled(example.position, scale, work.weight)
    exp_scaled(state.beta, 1.0, work.b)
    for i in range(n):
        work.row_scale[i] = math.exp(min(max(state.log_row[i], -LARGEST_LOG), LARGEST_LOG))
        for j in range(n):
            if not example.support[i, j]:
                work.weight[j, i] = 0.0


@kernel
def _leave_linear_domain(work, state):
    """Logarithms of the result; ``state.log_u`` holds U until then."""
    log(work.a[1:], state.alpha[1:])
    log(work.b[1:], state.beta[1:])
    log(state.log_u, state.log_u)
    for i in range(work.row_scale.shape[0]):
        state.log_row[i] = math.log(work.row_scale[i])


@kernel
def _undo_balance(example, state, into, out_of):
    """Give the factors and the row scales back the shifts of `_balance`, and -inf to the cells outside the support."""
    n = into.shape[0]
    for i in range(n):
        state.log_row[i] -= into[i] + out_of[i]
    for j in range(n):
        for i in range(n):
            if not example.support[i, j]:
                state.log_u[j, i] = -np.inf
            state.alpha[j, i] = state.alpha[j, i] - into[i] if j > 0 and example.support[i, j] else -np.inf
            state.beta[j, i] = state.beta[j, i] - out_of[i] if j > 0 and example.support[i, j - 1] else -np.inf


@kernel
def _solve_example(jump, position, support, max_sweeps, settings, found, log_row):
    """Solve one example with n ≥ 2 inside a total support [i, j].

    ``jump`` [k, i] and ``position`` [j, i] hold scores over τ and are overwritten. ``found`` [4, n, n] and ``log_row``
    [i], zero on entry, receive log U [j, i], α [j, i], β [j, k], Σ_j W [k, i] and the row scales. Returns (status,
    sweeps, residual, value).
    """
    n = jump.shape[0]
    state = State(log_row, found[1], found[2], found[0], found[3])
    tokens, sizes, dense = _tokens_by_position(support)
    example = Example(jump, position, support, tokens, sizes)
    into, out_of = np.empty(n), np.empty(n)
    shift, spread = _balance(jump, position, support, into, out_of)
    work = Workspace(np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty((n, n)), np.empty((n, n)))
    stages = 1
    if settings.cooling and spread > WARM_SPREAD:
        stages += math.ceil(math.log(spread / WARM_SPREAD) / math.log(COOLING))
    status, swept, residual, value, linear = _dense.OUT_OF_SWEEPS, 0, np.inf, np.inf, False
    for stage in range(stages):
        last = stage == stages - 1
        scale = COOLING ** (stage + 1.0 - stages)
        tolerance = settings.tolerance if last else max(WARM_TOLERANCE, settings.tolerance)
        # The last stage always has a sweep left, so that there is a result even if the warm-up used up the budget.
        left = max_sweeps - swept
        budget = max(left, 1) if last else min(WARM_SWEEPS, left)
        linear = False
        if dense and scale * spread <= LINEAR_SPREAD and budget > 0:
            _enter_linear_domain(example, work, state, scale)
            status, sweeps, residual, value = _dense.solve(
                work.kernel,
                work.weight,
                tolerance,
                budget,
                settings.memory,
                work.row_scale,
                work.a,
                work.b,
                state.log_u,
            )
            swept += sweeps
            budget = max(budget - sweeps, 1)
            linear = status != _dense.OUT_OF_RANGE
            if linear:
                _leave_linear_domain(work, state)
        if not linear and budget > 0:
            scaled(jump, scale, work.kernel)
            scaled(position, scale, work.weight)
            fill(state.log_u, -np.inf)
            status, sweeps, residual, value = _logdomain.solve(
                work.kernel, work.weight, tokens, sizes, tolerance, budget, settings.memory, *state[:4]
            )
            swept += sweeps
        if not last:
            scaled(state.beta, COOLING, state.beta)
            for i in range(n):
                state.log_row[i] *= COOLING
    if linear:
        _linear_marginals(work.kernel, work.a, work.b, state.marginals)
    else:
        _log_marginals(jump, state.alpha, state.beta, tokens, sizes, state.marginals)
    _undo_balance(example, state, into, out_of)
    return status, swept, residual, value + shift


def solve_batch(
    start: np.ndarray,
    jump: np.ndarray,
    end: np.ndarray,
    position: np.ndarray | None,
    allowed: np.ndarray | None,
    lengths: np.ndarray,
    temperature: np.ndarray,
    max_sweeps: np.ndarray,
    settings: Settings,
    threads: int,
) -> BatchResult:
    """Solve every example of a batch of float64 arrays, the longest first, shared out to ``threads``."""
    batch, size = start.shape
    result = BatchResult(
        log_u=np.full((batch, size, size), -np.inf),
        alpha=np.full((batch, size, size), -np.inf),
        beta=np.full((batch, size, size), -np.inf),
        log_row=np.zeros((batch, size)),
        jump_marginals=np.zeros((batch, size, size)),
        value=np.zeros(batch),
        residual=np.zeros(batch),
        sweeps=np.zeros(batch, np.int64),
        status=np.full(batch, _dense.CONVERGED, np.int64),
    )

    def solve(b: int) -> None:
        n = int(lengths[b])
        if n == 0:
            return
        support = np.ones((n, n), np.bool_)
        if allowed is not None and not total_support(np.ascontiguousarray(allowed[b, :n, :n]), support):
            result.status[b], result.value[b], result.residual[b] = INFEASIBLE, -np.inf, np.inf
            return
        place = np.zeros((n, n)) if position is None else position[b, :n, :n].T / temperature[b]
        place[0] += start[b, :n] / temperature[b]
        place[n - 1] += end[b, :n] / temperature[b]
        if n == 1:
            result.log_u[b, 0, 0], result.value[b] = 0.0, place[0, 0]
            return
        found = np.zeros((4, n, n))
        result.status[b], result.sweeps[b], result.residual[b], result.value[b] = _solve_example(
            jump[b, :n, :n] / temperature[b],
            np.ascontiguousarray(place),
            support,
            max_sweeps[b],
            settings,
            found,
            result.log_row[b, :n],
        )
        result.log_u[b, :n, :n] = found[0].T
        result.alpha[b, :n, :n] = found[1].T
        result.beta[b, :n, :n] = found[2].T
        result.jump_marginals[b, :n, :n] = found[3]

    longest_first = np.argsort(-lengths, kind="stable").tolist()
    if min(threads, batch) <= 1:
        for b in longest_first:
            solve(b)
    else:
        with ThreadPoolExecutor(min(threads, batch)) as pool:
            for _ in pool.map(solve, longest_first):
                pass
    return result
