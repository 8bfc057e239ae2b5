"""Anderson acceleration of a fixed-point iteration x ← g(x), in numba.

Keeps the last few differences of residuals f = g(x) - x and of images g, and extrapolates to the combination with the
smallest weighted residual. Cost: 2m dot products and m additions of vectors per step.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

REGULARISATION = 1e-10


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "arcp", "nsz"})
def _dot(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def push(differences_f, differences_g, gram, f, f_previous, dg, newest):
    """Store one more column and update the Gram matrix of the residual differences."""
    row = differences_f[newest]
    for i in range(f.shape[0]):
        row[i] = f[i] - f_previous[i]
    for i in range(dg.shape[0]):
        differences_g[newest, i] = dg[i]
    for c in range(gram.shape[0]):
        gram[newest, c] = gram[c, newest] = _dot(differences_f[c], row)


@njit(cache=True, nogil=True)
def _solve_positive_definite(matrix, right):
    """Solve in place by Cholesky's factorisation; False if the matrix is not positive definite."""
    n = right.shape[0]
    for c in range(n):
        for d in range(c + 1):
            total = matrix[c, d]
            for e in range(d):
                total -= matrix[c, e] * matrix[d, e]
            if c > d:
                matrix[c, d] = total / matrix[d, d]
            elif total > 0.0:
                matrix[c, c] = math.sqrt(total)
            else:
                return False
    for c in range(n):
        for d in range(c):
            right[c] -= matrix[c, d] * right[d]
        right[c] /= matrix[c, c]
    for c in range(n - 1, -1, -1):
        for d in range(c + 1, n):
            right[c] -= matrix[d, c] * right[d]
        right[c] /= matrix[c, c]
    return True


@njit(cache=True, nogil=True)
def extrapolate(differences_f, differences_g, gram, f, used, out):
    """out = ΔG γ with γ = argmin ‖f - ΔF γ‖ over the first ``used`` columns; False if that has no finite solution."""
    matrix, gamma = np.empty((used, used)), np.empty(used)
    trace = 0.0
    for c in range(used):
        gamma[c] = _dot(differences_f[c], f)
        trace += gram[c, c]
        for d in range(used):
            matrix[c, d] = gram[c, d]
    for c in range(used):
        matrix[c, c] += REGULARISATION * trace
    if not _solve_positive_definite(matrix, gamma):
        return False
    for i in range(out.shape[0]):
        out[i] = 0.0
    for c in range(used):
        if not math.isfinite(gamma[c]):
            return False
        column = differences_g[c]
        for i in range(out.shape[0]):
            out[i] += gamma[c] * column[i]
    return True
