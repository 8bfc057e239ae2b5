"""Anderson acceleration of a fixed-point iteration x ← g(x) that never raises a merit function, in numba.

Keeps the last few differences of residuals f = g(x) - x and of images g, and extrapolates to the combination with the
smallest weighted residual. Cost: 2m dot products and m additions of vectors per step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from permparse.permutation._kernels import kernel

REGULARISATION = 1e-10
SEEN, EXTRAPOLATED = 0, 1


class History(NamedTuple):
    """What is remembered of earlier sweeps; the arrays are updated in place."""

    differences_f: np.ndarray
    """*Shape:* [memory, size]. Differences between the residuals of consecutive sweeps."""
    differences_g: np.ndarray
    """*Shape:* [memory, size]. Differences between their images."""
    gram: np.ndarray
    """*Shape:* [memory, memory]. Dot products of ``differences_f``."""
    f: np.ndarray
    """*Shape:* [size]. The last residual."""
    merit: np.ndarray
    """*Shape:* [1]. The merit of the last image."""
    counts: np.ndarray
    """*Shape:* [2]. How many images have been seen since the start or the last failure, and whether the iteration
    continued from an extrapolation."""


@kernel
def new_history(memory, size):
    columns = max(memory, 1)
    return History(
        np.zeros((columns, size)),
        np.zeros((columns, size)),
        np.zeros((columns, columns)),
        np.empty(size),
        np.full(1, np.inf),
        np.zeros(2, np.int64),
    )


@kernel
def went_astray(history, merit):
    """Whether the last extrapolation raised the merit, which a plain step never does; if so, forget everything.

    The caller then goes back to the image before the extrapolation.
    """
    before = history.merit[0]
    if history.counts[EXTRAPOLATED] and not merit <= before + 1e-12 * abs(before):
        history.counts[SEEN] = 0
        history.counts[EXTRAPOLATED] = 0
        return True
    history.merit[0] = merit
    return False


@kernel
def extrapolate(history, f, step):
    """Turn ``step``, the difference between this image and the last one, into the step to subtract from this image.

    ``f`` is this sweep's weighted residual. Returns False if there is nothing to subtract: at the first image, or when
    the least-squares problem has no finite solution.
    """
    memory, seen = history.gram.shape[0], history.counts[SEEN]
    if seen > 0:
        _push(history, f, step, (seen - 1) % memory)
    for i in range(f.shape[0]):
        history.f[i] = f[i]
    history.counts[SEEN] = seen + 1
    history.counts[EXTRAPOLATED] = seen > 0 and _combine(history, f, min(seen, memory), step)
    return history.counts[EXTRAPOLATED] == 1


@kernel(fastmath={"contract", "reassoc", "arcp", "nsz"})
def _dot(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@kernel
def _push(history, f, dg, newest):
    """Store one more column and update the Gram matrix of the residual differences."""
    row = history.differences_f[newest]
    for i in range(f.shape[0]):
        row[i] = f[i] - history.f[i]
        history.differences_g[newest, i] = dg[i]
    for c in range(history.gram.shape[0]):
        history.gram[newest, c] = history.gram[c, newest] = _dot(history.differences_f[c], row)


@kernel
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


@kernel
def _combine(history, f, used, out):
    """out = ΔG γ with γ = argmin ‖f - ΔF γ‖ over the first ``used`` columns; False if that has no finite solution."""
    matrix, gamma = np.empty((used, used)), np.empty(used)
    trace = 0.0
    for c in range(used):
        gamma[c] = _dot(history.differences_f[c], f)
        trace += history.gram[c, c]
        for d in range(used):
            matrix[c, d] = history.gram[c, d]
    for c in range(used):
        matrix[c, c] += REGULARISATION * trace
    if not _solve_positive_definite(matrix, gamma):
        return False
    for i in range(out.shape[0]):
        out[i] = 0.0
    for c in range(used):
        if not math.isfinite(gamma[c]):
            return False
        column = history.differences_g[c]
        for i in range(out.shape[0]):
            out[i] += gamma[c] * column[i]
    return True
