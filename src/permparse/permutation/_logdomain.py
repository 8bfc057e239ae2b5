"""Bregman sweeps in the log domain over a given support: exact for any finite scores, and fast where the support is
small.

The same three projections as in `_dense.py`, with log W_ijk = jump[k, i] + alpha[j, i] + beta[j, k]. Terms that are
e^-45 of the largest cannot change a float64 sum of any practical length and are skipped, so that extreme scores cost
least. Arrays are position-major, [j, i]; ``alpha`` and ``beta`` of row j belong to the positions (j-1, j). Time per
sweep: Σ_j |S_j| |S_{j-1}| for supports S_j, at most n³. Memory: O(n²)."""

from __future__ import annotations

import math

import numpy as np

from permparse.permutation import _anderson
from permparse.permutation._arrays import copy_vector
from permparse.permutation._dense import CONVERGED, OUT_OF_SWEEPS, PLAIN_CHECK_PERIOD
from permparse.permutation._kernels import kernel

NEGLIGIBLE = -45.0
LARGEST_STEP = 1e3  # bound on an extrapolated log step


@kernel
def _log_sum_exp(values, count):
    if count == 0:
        return -np.inf
    best = 0
    for c in range(1, count):
        if values[c] > values[best]:
            best = c
    top, others = values[best], 0.0
    for c in range(count):
        gap = values[c] - top
        if c != best and gap > NEGLIGIBLE:
            others += math.exp(gap)
    return top + math.log1p(others) if others > 0.0 else top


@kernel
def _sum_over_predecessors(jump_t, beta, tokens, sizes, j, i, buffer):
    """log Σ_k exp(jump[k, i] + beta[j, k]) over the other tokens k that may stand at j-1."""
    count = 0
    for c in range(sizes[j - 1]):
        k = tokens[j - 1, c]
        if k != i:
            buffer[count] = jump_t[i, k] + beta[j, k]
            count += 1
    return _log_sum_exp(buffer, count)


@kernel
def _sum_over_successors(jump, alpha, tokens, sizes, j, k, buffer):
    """log Σ_i exp(jump[k, i] + alpha[j, i]) over the other tokens i that may stand at j."""
    count = 0
    for c in range(sizes[j]):
        i = tokens[j, c]
        if i != k:
            buffer[count] = jump[k, i] + alpha[j, i]
            count += 1
    return _log_sum_exp(buffer, count)


@kernel
def _sweep(jump, jump_t, position, log_row, alpha, beta, log_u, tokens, sizes, column_norm, row_sums, buffers):
    """One round of the three projections."""
    n = jump.shape[0]
    buffer, sums, logits = buffers[0], buffers[1], buffers[2]
    for j in range(n):  # (i) columns and sums over k
        for c in range(sizes[j]):
            i = tokens[j, c]
            value = position[j, i] + log_row[i]
            if j < n - 1:
                value -= beta[j + 1, i]
            if j > 0:
                sums[c] = _sum_over_predecessors(jump_t, beta, tokens, sizes, j, i, buffer)
                value = 0.5 * (value + sums[c])
            logits[c] = value
        norm = _log_sum_exp(logits, sizes[j])
        if j > 0:
            for c in range(sizes[j]):
                alpha[j, tokens[j, c]] = logits[c] - norm - sums[c]
    row_top = buffers[3]
    for k in range(n):
        row_top[k] = -np.inf
        row_sums[k] = 0.0
    for j in range(n):  # (ii) columns and sums over i
        for c in range(sizes[j]):
            k = tokens[j, c]
            value = position[j, k] + log_row[k]
            if j > 0:
                value -= alpha[j, k]
            if j < n - 1:
                sums[c] = _sum_over_successors(jump, alpha, tokens, sizes, j + 1, k, buffer)
                value = 0.5 * (value + sums[c])
            logits[c] = value
        norm = _log_sum_exp(logits, sizes[j])
        column_norm[j] = norm
        for c in range(sizes[j]):
            k = tokens[j, c]
            log_u[j, k] = logits[c] - norm
            row_top[k] = max(row_top[k], log_u[j, k])
            if j < n - 1:
                beta[j + 1, k] = log_u[j, k] - sums[c]
    for j in range(n):  # (iii) rows
        for c in range(sizes[j]):
            k = tokens[j, c]
            gap = log_u[j, k] - row_top[k]
            if gap > NEGLIGIBLE:
                row_sums[k] += math.exp(gap)
    for k in range(n):
        row_sums[k] = row_top[k] + math.log(row_sums[k])
        log_row[k] -= row_sums[k]
    for j in range(n):
        for c in range(sizes[j]):
            k = tokens[j, c]
            log_u[j, k] -= row_sums[k]


@kernel
def _residual(jump_t, alpha, beta, log_u, tokens, sizes, row_sums, buffer):
    """The largest violation of any constraint by (U, W) after a sweep."""
    n = jump_t.shape[0]
    worst = 0.0
    for j in range(n):
        total = 0.0
        for c in range(sizes[j]):
            i = tokens[j, c]
            u = math.exp(min(log_u[j, i], 700.0))
            total += u
            if j > 0:
                into = alpha[j, i] + _sum_over_predecessors(jump_t, beta, tokens, sizes, j, i, buffer)
                worst = max(worst, abs(math.exp(min(into, 700.0)) - u))
            if j < n - 1:
                worst = max(worst, abs(math.exp(min(log_u[j, i] + row_sums[i], 700.0)) - u))
        worst = max(worst, abs(total - 1.0))
    return worst


@kernel
def _dual_value(log_row, column_norm):
    """-Σ log r - Σ log c: an upper bound on the optimal value over τ, equal to it at the solution."""
    n = log_row.shape[0]
    value = -column_norm[n - 1]
    for i in range(n):
        value += 2.0 * column_norm[i] - log_row[i]
    return value


@kernel
def solve(jump, position, tokens, sizes, tolerance, max_sweeps, memory, log_row, alpha, beta, log_u):
    """Sweep until the residual is at most ``tolerance``; ``memory`` > 0 extrapolates from that many earlier sweeps.

    ``tokens[j, :sizes[j]]`` are the tokens that may stand at j. Reads the starting point from ``log_row`` and
    ``beta``; leaves the result in ``log_row``, ``alpha``, ``beta`` and ``log_u``. Returns (status, sweeps, residual,
    dual value)."""
    n = jump.shape[0]
    jump_t = jump.T.copy()
    column_norm, row_sums, buffers = np.empty(n), np.empty(n), np.empty((4, n))
    size = n  # the state: log_row, then beta on the support
    for j in range(n - 1):
        size += sizes[j]
    x, g, g_previous = np.empty(size), np.empty(size), np.zeros(size)
    f, step = np.empty(size), np.empty(size)
    history = _anderson.new_history(memory, size)
    residual = np.inf

    for sweep in range(1, max_sweeps + 1):
        looked_at = memory > 0 or sweep % PLAIN_CHECK_PERIOD == 0 or sweep == max_sweeps
        if looked_at:
            _pack(log_row, beta, tokens, sizes, x)
        _sweep(jump, jump_t, position, log_row, alpha, beta, log_u, tokens, sizes, column_norm, row_sums, buffers)
        if not looked_at:
            continue
        _pack(log_row, beta, tokens, sizes, g)
        change = _weighted_change(x, g, log_u, tokens, sizes, f)
        if change <= tolerance or sweep == max_sweeps:
            residual = _residual(jump_t, alpha, beta, log_u, tokens, sizes, row_sums, buffers[0])
            if residual <= tolerance or sweep == max_sweeps:
                status = CONVERGED if residual <= tolerance else OUT_OF_SWEEPS
                return status, sweep, residual, _dual_value(log_row, column_norm)
        if memory == 0:
            continue

        if _anderson.went_astray(history, _dual_value(log_row, column_norm)):
            _unpack(g_previous, tokens, sizes, log_row, beta)
            continue
        for c in range(size):
            step[c] = g[c] - g_previous[c]
        copy_vector(g, g_previous)
        if _anderson.extrapolate(history, f, step):
            for c in range(size):
                x[c] = g[c] - min(max(step[c], -LARGEST_STEP), LARGEST_STEP)
            _unpack(x, tokens, sizes, log_row, beta)
    return OUT_OF_SWEEPS, max_sweeps, residual, np.inf


@kernel
def _pack(log_row, beta, tokens, sizes, state):
    n = log_row.shape[0]
    for i in range(n):
        state[i] = log_row[i]
    at = n
    for j in range(n - 1):
        for c in range(sizes[j]):
            state[at] = beta[j + 1, tokens[j, c]]
            at += 1


@kernel
def _unpack(state, tokens, sizes, log_row, beta):
    n = log_row.shape[0]
    for i in range(n):
        log_row[i] = state[i]
    at = n
    for j in range(n - 1):
        for c in range(sizes[j]):
            beta[j + 1, tokens[j, c]] = state[at]
            at += 1


@kernel
def _weighted_change(x, g, log_u, tokens, sizes, f):
    """f = sqrt(U) · (g - x), the residual of the fixed point; returns the largest U · |g - x|."""
    n = log_u.shape[0]
    worst = 0.0
    for i in range(n):
        f[i] = g[i] - x[i]
        worst = max(worst, abs(f[i]))
    at = n
    for j in range(n - 1):
        for c in range(sizes[j]):
            root = math.exp(0.5 * min(log_u[j, tokens[j, c]], 0.0))
            f[at] = root * (g[at] - x[at])
            worst = max(worst, root * abs(f[at]))
            at += 1
    return worst
