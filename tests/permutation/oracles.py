"""Slow, independent ways to solve the relaxed problem: what the solvers are compared with."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def relaxed_problem_by_scipy(start, jump, end, temperature, allowed=None):
    """U [i, j] and W [i, j, k] of the relaxed problem for one example, by SciPy's general constrained optimiser.

    States the problem as it stands in the paper: variables, linear constraints, entropy; nothing is factorised.
    """
    n = len(start)
    allowed = np.ones((n, n), bool) if allowed is None else allowed
    cells = [(i, j) for i in range(n) for j in range(n) if allowed[i, j]]
    triples = [
        (i, j, k)
        for i in range(n)
        for j in range(1, n)
        for k in range(n)
        if i != k and allowed[i, j] and allowed[k, j - 1]
    ]
    score = np.zeros(len(cells) + len(triples))
    for c, (i, j) in enumerate(cells):
        score[c] = (start[i] if j == 0 else 0.0) + (end[i] if j == n - 1 else 0.0)
    for c, (i, _, k) in enumerate(triples):
        score[len(cells) + c] = jump[k, i]

    rows, right = [], []

    def constrain(terms, value):
        row = np.zeros(len(score))
        for at, weight in terms:
            row[at] = weight
        rows.append(row)
        right.append(value)

    at_cell = {cell: c for c, cell in enumerate(cells)}
    for x in range(n):
        constrain([(at_cell[c], 1.0) for c in cells if c[0] == x], 1.0)
        constrain([(at_cell[c], 1.0) for c in cells if c[1] == x], 1.0)
    for i, j in cells:
        if j > 0:
            into = [(len(cells) + c, 1.0) for c, t in enumerate(triples) if t[:2] == (i, j)]
            constrain([*into, (at_cell[i, j], -1.0)], 0.0)
        if j < n - 1:
            out = [(len(cells) + c, 1.0) for c, t in enumerate(triples) if (t[2], t[1]) == (i, j + 1)]
            constrain([*out, (at_cell[i, j], -1.0)], 0.0)
    # SLSQP wants independent constraints.
    matrix, right = _independent_rows(np.array(rows), np.array(right))

    def negative_value(x):
        x = np.maximum(x, 1e-300)
        return float(-(score @ x) / temperature + (x * np.log(x)).sum())

    def gradient(x):
        return -score / temperature + np.log(np.maximum(x, 1e-300)) + 1.0

    found = minimize(
        negative_value,
        np.full(len(score), 1.0 / n),
        jac=gradient,
        bounds=[(1e-14, 1.0)] * len(score),
        constraints={"type": "eq", "fun": lambda x: matrix @ x - right, "jac": lambda x: matrix},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-16},
    ).x
    found = _polish(found, matrix, right, score / temperature)
    u, w = np.zeros((n, n)), np.zeros((n, n, n))
    for c, (i, j) in enumerate(cells):
        u[i, j] = found[c]
    for c, (i, j, k) in enumerate(triples):
        w[i, j, k] = found[len(cells) + c]
    return u, w


def _independent_rows(matrix, right):
    kept = []
    for row in range(len(matrix)):
        if np.linalg.matrix_rank(matrix[[*kept, row]]) > len(kept):
            kept.append(row)
    return matrix[kept], right[kept]


def _polish(x, matrix, right, score):
    """A few Newton steps on the optimality conditions score - log x - 1 = Aᵀν, A x = b, from SLSQP's answer."""
    for _ in range(30):
        gradient = score - np.log(x) - 1.0
        weighted = matrix * x
        system = weighted @ matrix.T
        multipliers = np.linalg.lstsq(system, weighted @ gradient + matrix @ x - right, rcond=None)[0]
        step = x * (gradient - matrix.T @ multipliers)
        if np.abs(step).max() < 1e-15:
            break
        negative = step < 0
        longest = min(1.0, 0.9 * float((-x[negative] / step[negative]).min(initial=np.inf)))
        x = x + longest * step
    return x
