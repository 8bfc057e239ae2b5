"""One example at a time on the CPU: balance the scores, cool down if they are extreme, pick the domain, sweep.

Examples have their own length, their own stopping test and no padding; a batch is shared out to threads.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from permparse.permutation import _dense, _logdomain
from permparse.permutation._arrays import LARGEST_LOG, exp_scaled, log, scaled
from permparse.permutation._support import total_support

INFEASIBLE = 3

LINEAR_SPREAD = 2000.0  # beyond, the linear domain is not even tried
CELL_COST, PAIR_COST = 100.0, 20.0  # nanoseconds of a sweep over a support, for each cell and pair of cells
DENSE_CELL_COST, DENSE_PAIR_COST = 6.0, 0.16  # and over all cells, in the linear domain
WARM_SPREAD = 60.0  # the first temperature of a cooling schedule brings the scores into this range
COOLING = 4.0
WARM_TOLERANCE = 1e-2
WARM_SWEEPS = 200


class Settings(NamedTuple):
    """What `BregmanSolver` passes down."""

    tolerance: float
    max_sweeps: int
    memory: int
    cooling: bool


class BatchResult(NamedTuple):
    """Arrays over a padded batch, float64: see `Solution` for the meaning and the shapes."""

    log_u: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    jump_marginals: np.ndarray
    value: np.ndarray
    residual: np.ndarray
    sweeps: np.ndarray
    status: np.ndarray


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _linear_marginals(kernel, a, b, out):
    """out[k, i] = Σ_j W_ijk = K[k, i] Σ_j a[j, i] b[j, k]."""
    np.dot(b[1:].T, a[1:], out)
    for k in range(out.shape[0]):
        for i in range(out.shape[0]):
            out[k, i] *= kernel[k, i]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _solve_example(jump, position, support, tolerance, max_sweeps, memory, cooling, log_u, alpha, beta, marginals):
    """Solve one example with n ≥ 2 inside a total support [i, j].

    ``jump`` [k, i] and ``position`` [j, i] hold scores over τ and are overwritten. Fills log_u, alpha, beta [j, i] and
    marginals [k, i], which is zero on entry. Returns (status, sweeps, residual, value).
    """
    n = jump.shape[0]
    tokens, sizes = np.empty((n, n), np.int64), np.zeros(n, np.int64)
    sparse_cost = 0.0
    for j in range(n):
        for i in range(n):
            if support[i, j]:
                tokens[j, sizes[j]] = i
                sizes[j] += 1
        sparse_cost += CELL_COST * sizes[j] + PAIR_COST * sizes[j] * sizes[max(j - 1, 0)]
    dense = DENSE_CELL_COST * n**2 + DENSE_PAIR_COST * n**3 < sparse_cost
    into, out_of, log_row = np.empty(n), np.empty(n), np.zeros(n)
    shift, spread = _balance(jump, position, support, into, out_of)
    for j in range(n):
        for i in range(n):
            log_u[j, i], alpha[j, i], beta[j, i] = -np.inf, 0.0, 0.0

    stages = 1
    if cooling and spread > WARM_SPREAD:
        stages += math.ceil(math.log(spread / WARM_SPREAD) / math.log(COOLING))
    kernel, weight = np.empty((n, n)), np.empty((n, n))
    row_scale, a, b = np.empty(n), np.empty((n, n)), np.empty((n, n))
    status, swept, residual, value, linear = _dense.OUT_OF_SWEEPS, 0, np.inf, np.inf, False
    for stage in range(stages):
        last = stage == stages - 1
        scale = COOLING ** (stage + 1.0 - stages)
        aim = tolerance if last else max(WARM_TOLERANCE, tolerance)
        # The last stage always has a sweep left, so that there is a result even if the warm-up used up the budget.
        budget = max(max_sweeps - swept, 1) if last else min(WARM_SWEEPS, max_sweeps - swept)
        linear = False
        if dense and scale * spread <= LINEAR_SPREAD and budget > 0:
            exp_scaled(jump, scale, kernel)
            exp_scaled(position, scale, weight)
            for j in range(n):
                for i in range(n):
                    if not support[i, j]:
                        weight[j, i] = 0.0
            exp_scaled(beta, 1.0, b)
            for i in range(n):
                row_scale[i] = math.exp(min(max(log_row[i], -LARGEST_LOG), LARGEST_LOG))
            status, sweeps, residual, value = _dense.solve(kernel, weight, aim, budget, memory, row_scale, a, b, log_u)
            swept += sweeps
            linear = status != _dense.OUT_OF_RANGE
            if linear:
                log(a[1:], alpha[1:])
                log(b[1:], beta[1:])
                log(log_u, log_u)
                for i in range(n):
                    log_row[i] = math.log(row_scale[i])
            budget = max(budget - sweeps, 1)
        if not linear and budget > 0:
            scaled(jump, scale, kernel)
            scaled(position, scale, weight)
            for j in range(n):
                for i in range(n):
                    log_u[j, i] = -np.inf
            status, sweeps, residual, value = _logdomain.solve(
                kernel, weight, tokens, sizes, aim, budget, memory, log_row, alpha, beta, log_u
            )
            swept += sweeps
        if not last:
            scaled(beta, COOLING, beta)
            for i in range(n):
                log_row[i] *= COOLING

    if linear:
        _linear_marginals(kernel, a, b, marginals)
    else:
        _log_marginals(jump, alpha, beta, tokens, sizes, marginals)
    for j in range(n):
        for i in range(n):
            if not support[i, j]:
                log_u[j, i] = -np.inf
            alpha[j, i] = alpha[j, i] - into[i] if j > 0 and support[i, j] else -np.inf
            beta[j, i] = beta[j, i] - out_of[i] if j > 0 and support[i, j - 1] else -np.inf
    return status, swept, residual, value + shift


def solve_batch(
    start: np.ndarray,
    jump: np.ndarray,
    end: np.ndarray,
    position: np.ndarray | None,
    allowed: np.ndarray | None,
    lengths: np.ndarray,
    temperature: np.ndarray,
    settings: Settings,
    threads: int,
) -> BatchResult:
    """Solve every example of a batch of float64 arrays, the longest first, shared out to ``threads``."""
    batch, size = start.shape
    result = BatchResult(
        log_u=np.full((batch, size, size), -np.inf),
        alpha=np.full((batch, size, size), -np.inf),
        beta=np.full((batch, size, size), -np.inf),
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
        log_u, alpha, beta = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
        marginals = np.zeros((n, n))
        scores = jump[b, :n, :n] / temperature[b]
        result.status[b], result.sweeps[b], result.residual[b], result.value[b] = _solve_example(
            scores, np.ascontiguousarray(place), support, *settings, log_u, alpha, beta, marginals
        )
        result.log_u[b, :n, :n] = log_u.T
        result.alpha[b, :n, :n] = alpha.T
        result.beta[b, :n, :n] = beta.T
        result.jump_marginals[b, :n, :n] = marginals

    longest_first = np.argsort(-lengths, kind="stable").tolist()
    if min(threads, batch) <= 1:
        for b in longest_first:
            solve(b)
    else:
        with ThreadPoolExecutor(min(threads, batch)) as pool:
            for _ in pool.map(solve, longest_first):
                pass
    return result
