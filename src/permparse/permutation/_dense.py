"""Bregman sweeps (Algorithm 1 of the paper) without W and without exp or log: the fast path, in numba.

W_ijk = K[k, i] · a[j, i] · b[j, k] at all times, so the sums over k and over i that the projections need are the
matrix products b K and a Kᵀ. Arrays are position-major, [j, i]; row j of a and b belongs to the pair of positions
(j-1, j), and row 0 of both is unused. U is implied: U_ji = E_ji · r_i · c_j / (a_ji · b_{j+1,i}), where r and c scale
rows and columns. Time per sweep: two n×n products. Memory: O(n²)."""

from __future__ import annotations

import math

import numpy as np

from permparse.permutation import _anderson
from permparse.permutation._arrays import LARGEST_LOG, copy, copy_vector
from permparse.permutation._kernels import kernel

TINY = 1e-290  # keeps divisors out of the denormals, which are a hundred times slower
SAFE = 1e-250  # a value below this (or above its inverse) means that the linear domain has been left
LARGE = 1e100  # bound on a factor: two of them times the smallest weight of `exp_scaled` are still negligible
NEGLIGIBLE = 1e-60  # cells of U below this matter to no sum
SMALLEST_WEIGHT = 1.001 * math.exp(-LARGEST_LOG)  # `exp_scaled` may have raised weights up to this
RANGE_CHECK_PERIOD = 16
PLAIN_CHECK_PERIOD = 5
LARGEST_STEP = 1.8  # bound on an extrapolated log step in the Padé coordinates below

CONVERGED, OUT_OF_SWEEPS, OUT_OF_RANGE = 0, 1, 2
_FLAGS = {"contract", "reassoc", "arcp", "nsz"}


@kernel(fastmath=_FLAGS)
def _project_onto_sum_over_predecessors(position_weight, row_scale, successors, a, b, u):
    """(i) columns of U sum to 1 and Σ_k W_ijk = U_ij: T = sqrt(U · Σ_k W), U = T / Σ T, a rescaled to match.

    ``successors`` is b K.
    """
    n = u.shape[0]
    for j in range(n):
        total = 0.0
        for i in range(n):
            weight = position_weight[j, i] * row_scale[i]
            if j < n - 1:
                weight /= max(b[j + 1, i], TINY)
            if j > 0:
                weight = math.sqrt(weight * successors[j, i])
            u[j, i] = weight
            total += weight
        scale = 1.0 / max(total, TINY)
        for i in range(n):
            u[j, i] *= scale
        if j > 0:
            for i in range(n):
                a[j, i] = u[j, i] / max(successors[j, i], TINY)


@kernel(fastmath=_FLAGS)
def _project_onto_sum_over_successors(position_weight, row_scale, predecessors, a, b, u, column_norm):
    """(ii) the mirror image: Σ_i W_ijk = U_k,j-1. ``predecessors`` is a Kᵀ."""
    n = u.shape[0]
    for j in range(n):
        total = 0.0
        for i in range(n):
            weight = position_weight[j, i] * row_scale[i]
            if j > 0:
                weight /= max(a[j, i], TINY)
            if j < n - 1:
                weight = math.sqrt(weight * predecessors[j + 1, i])
            u[j, i] = weight
            total += weight
        column_norm[j] = total
        scale = 1.0 / max(total, TINY)
        for i in range(n):
            u[j, i] *= scale
        if j < n - 1:
            for i in range(n):
                b[j + 1, i] = u[j, i] / max(predecessors[j + 1, i], TINY)


@kernel(fastmath=_FLAGS)
def _project_onto_rows(row_scale, u, row_sums):
    """(iii) rows of U sum to 1."""
    n = u.shape[0]
    for i in range(n):
        row_sums[i] = 0.0
    for j in range(n):
        for i in range(n):
            row_sums[i] += u[j, i]
    for i in range(n):
        scale = 1.0 / max(row_sums[i], TINY)
        row_sums[i] = scale
        row_scale[i] *= scale
    for j in range(n):
        for i in range(n):
            u[j, i] *= row_sums[i]


@kernel
def _sweep(kernel, kernel_t, position_weight, row_scale, products, a, b, u, row_sums, column_norm):
    np.dot(b[1:], kernel, products[1:])
    _project_onto_sum_over_predecessors(position_weight, row_scale, products, a, b, u)
    np.dot(a[1:], kernel_t, products[1:])
    _project_onto_sum_over_successors(position_weight, row_scale, products, a, b, u, column_norm)
    _project_onto_rows(row_scale, u, row_sums)


@kernel
def dual_value(row_scale, column_norm):
    """-Σ log r - Σ log c: an upper bound on the optimal value over τ, equal to it at the solution."""
    n = row_scale.shape[0]
    value = 0.0
    for i in range(n):
        value += (2.0 if i < n - 1 else 1.0) * math.log(max(column_norm[i], TINY))
        value -= math.log(max(row_scale[i], TINY))
    return value


@kernel
def _residual(kernel, products, a, b, u, row_sums):
    """The largest violation of any constraint by (U, W) after a sweep."""
    n = u.shape[0]
    np.dot(b[1:], kernel, products[1:])
    worst = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += u[j, i]
            if j > 0:
                worst = max(worst, abs(a[j, i] * products[j, i] - u[j, i]))
            if j < n - 1:
                # Σ_i W equals U as it was before the rows were rescaled.
                worst = max(worst, abs(u[j, i] / row_sums[i] - u[j, i]))
        worst = max(worst, abs(total - 1.0))
    return worst


@kernel
def _in_range(kernel, kernel_t, position_weight, products, a, b, u, row_scale, column_norm):
    """Whether the linear domain is still exact.

    Every cell of the support needs U, its factors and its sums inside the range: a factor is a quotient U / sum, and
    once both have sunk below float64 it says nothing. Factors may not be so large that a jump whose weight was raised
    to the smallest would matter, and cells whose weight was raised must be negligible.
    """
    n = u.shape[0]
    for j in range(n):
        if not (1.0 / LARGE < row_scale[j] < LARGE and SAFE < column_norm[j] < 1.0 / SAFE):
            return False
        for i in range(n):
            if position_weight[j, i] == 0.0:
                continue
            if not u[j, i] > SAFE or (u[j, i] > NEGLIGIBLE and position_weight[j, i] < SMALLEST_WEIGHT):
                return False
            if j > 0 and not SAFE < a[j, i] < LARGE:
                return False
            if j < n - 1 and not SAFE < b[j + 1, i] < LARGE:
                return False
    np.dot(a[1:], kernel_t, products[1:])
    for j in range(n - 1):
        for i in range(n):
            if position_weight[j, i] > 0.0 and not products[j + 1, i] > SAFE:
                return False
    np.dot(b[1:], kernel, products[1:])
    for j in range(1, n):
        for i in range(n):
            if position_weight[j, i] > 0.0 and not products[j, i] > SAFE:
                return False
    return True


@kernel(fastmath=_FLAGS)
def _log_ratio(row_scale, old_row_scale, b, old_b, u, out):
    """2 (y - 1) / (y + 1) for y = new / old: log y to third order, bounded, and free of transcendental functions.

    Fills ``out`` with the rows' scales first, then b; returns the largest entry, those of b weighted by U.
    """
    n = row_scale.shape[0]
    worst = 0.0
    for i in range(n):
        step = 2.0 * (row_scale[i] - old_row_scale[i]) / max(row_scale[i] + old_row_scale[i], TINY)
        out[i] = step
        worst = max(worst, abs(step))
    for j in range(1, n):
        for i in range(n):
            step = 2.0 * (b[j, i] - old_b[j, i]) / max(b[j, i] + old_b[j, i], TINY)
            out[j * n + i] = step
            worst = max(worst, abs(step) * u[j - 1, i])
    return worst


@kernel(fastmath=_FLAGS)
def _apply_log_step(row_scale, b, step):
    """row_scale and b times exp(-step), in the coordinates of `_log_ratio`."""
    n = row_scale.shape[0]
    for j in range(n):
        for i in range(n):
            z = min(max(step[j * n + i], -LARGEST_STEP), LARGEST_STEP)
            factor = (2.0 - z) / (2.0 + z)
            if j > 0:
                b[j, i] *= factor
            else:
                row_scale[i] *= factor


@kernel(fastmath=_FLAGS)
def _weigh(u, f):
    """Weigh the residual of b by sqrt(U): cells that carry no weight need not settle."""
    n = u.shape[0]
    for j in range(1, n):
        for i in range(n):
            f[j * n + i] *= math.sqrt(u[j - 1, i])


@kernel
def solve(kernel, position_weight, tolerance, max_sweeps, memory, row_scale, a, b, u):
    """Sweep until the residual is at most ``tolerance``; ``memory`` > 0 extrapolates from that many earlier sweeps.

    Reads the starting point from ``row_scale`` and ``b``; leaves the result in ``row_scale``, ``a``, ``b`` and ``u``.
    Returns (status, sweeps, residual, dual value).
    """
    n = kernel.shape[0]
    kernel_t = kernel.T.copy()
    products, row_sums, column_norm = np.empty((n, n)), np.empty(n), np.empty(n)
    size = n * n  # the state: row_scale, then rows 1..n-1 of b
    x_b, x_row = np.empty((n, n)), np.empty(n)
    previous_b, previous_row = b.copy(), row_scale.copy()
    f, step = np.empty(size), np.empty(size)
    history = _anderson.new_history(memory, size)
    residual = np.inf

    for sweep in range(1, max_sweeps + 1):
        looked_at = memory > 0 or sweep % PLAIN_CHECK_PERIOD == 0 or sweep == max_sweeps
        if looked_at:
            copy(b, x_b)
            copy_vector(row_scale, x_row)
        _sweep(kernel, kernel_t, position_weight, row_scale, products, a, b, u, row_sums, column_norm)

        if sweep % RANGE_CHECK_PERIOD == 1 and not _in_range(
            kernel, kernel_t, position_weight, products, a, b, u, row_scale, column_norm
        ):
            return OUT_OF_RANGE, sweep, np.inf, np.inf
        if not looked_at:
            continue
        change = _log_ratio(row_scale, x_row, b, x_b, u, f)
        if change <= tolerance or sweep == max_sweeps:
            residual = _residual(kernel, products, a, b, u, row_sums)
            if residual <= tolerance or sweep == max_sweeps:
                if not _in_range(kernel, kernel_t, position_weight, products, a, b, u, row_scale, column_norm):
                    return OUT_OF_RANGE, sweep, np.inf, np.inf
                status = CONVERGED if residual <= tolerance else OUT_OF_SWEEPS
                return status, sweep, residual, dual_value(row_scale, column_norm)
        if memory == 0:
            continue

        if _anderson.went_astray(history, dual_value(row_scale, column_norm)):
            copy(previous_b, b)
            copy_vector(previous_row, row_scale)
            continue
        _weigh(u, f)
        _log_ratio(row_scale, previous_row, b, previous_b, u, step)
        copy(b, previous_b)
        copy_vector(row_scale, previous_row)
        if _anderson.extrapolate(history, f, step):
            _apply_log_step(row_scale, b, step)
    return OUT_OF_SWEEPS, max_sweeps, residual, np.inf
