"""The assignment relaxation of the best path: every token gets one successor, cycles allowed.

Successive shortest augmenting paths with dual prices; a changed arc is repaired by one path instead of a new
solve.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel

UNLIMITED = 2**62
"""Steps of work without a limit."""


@kernel
def _shortest_path(cost, row_of, u, v, limit, distance, previous, todo, left, work):
    """Dijkstra's algorithm from the free ``row`` over reduced costs to the nearest free column.

    ``todo[:left]`` are the columns that may be used; on return its first entries are those with a final ``distance``.
    Returns the column (-1 if none is within ``limit``, or ``work`` [1] is used up), its distance and how many distances
    are final.
    """
    settled = 0
    while settled < left and work[0] > 0:
        work[0] -= 2 * (left - settled)
        at = settled
        for t in range(settled + 1, left):
            nearer = distance[todo[t]] - distance[todo[at]]
            if nearer < 0 or (nearer == 0 and row_of[todo[t]] < 0 <= row_of[todo[at]]):  # a free column ends the search
                at = t
        j = todo[at]
        todo[at] = todo[settled]
        todo[settled] = j
        shortest = distance[j]
        if not shortest <= limit or shortest == np.inf:
            return -1, shortest, settled
        i = row_of[j]
        if i < 0:
            return j, shortest, settled
        settled += 1
        base = shortest - u[i]
        for t in range(settled, left):
            k = todo[t]
            through = base + cost[i, k] - v[k]
            if through < distance[k]:
                distance[k] = through
                previous[k] = i
    return -1, np.inf, settled


@kernel
def augment(
    cost: np.ndarray,
    row: int,
    column_of: np.ndarray,
    row_of: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    blocked: np.ndarray,
    limit: float,
    work: np.ndarray,
) -> float:
    """Assign the free ``row`` by the cheapest augmenting path that avoids ``blocked`` columns; O(n²).

    Needs reduced costs ``cost[i, j] - u[i] - v[j] >= 0`` with equality on the assignment, and keeps that so.
    Returns the rise of the assignment's cost, or inf, with nothing changed, if it is infinite or exceeds
    ``limit``, or if the ``work`` [1] it may cost is used up.
    """
    m = cost.shape[0]
    distance = np.empty(m)
    previous = np.empty(m, np.int64)
    todo = np.empty(m, np.int64)
    left = 0
    for j in range(m):
        previous[j] = row
        if not blocked[j]:
            todo[left] = j
            left += 1
            distance[j] = cost[row, j] - u[row] - v[j]
    sink, shortest, settled = _shortest_path(cost, row_of, u, v, limit, distance, previous, todo, left, work)
    if sink < 0:
        return np.inf
    u[row] += shortest
    for t in range(settled):
        j = todo[t]
        u[row_of[j]] += shortest - distance[j]
        v[j] -= shortest - distance[j]
    j = sink
    while True:
        i = previous[j]
        row_of[j] = i
        j, column_of[i] = column_of[i], j
        if i == row:
            return max(shortest, 0.0)


@kernel
def solve_assignment(cost, column_of, row_of, u, v, work):
    """Minimise ``Σ_i cost[i, column_of[i]]`` over permutations; infinite entries are excluded. O(n³), usually
    O(n²).

    Fills the assignment, its inverse and the dual prices. Returns False if every permutation is excluded, or if the
    ``work`` [1] is used up: then rows without a column have -1, and Σ u + Σ v is still a lower bound.
    """
    m = cost.shape[0]
    for i in range(m):
        column_of[i] = -1
        row_of[i] = -1
        u[i] = np.inf
        v[i] = np.inf
        for j in range(m):
            u[i] = min(u[i], cost[i, j])
        if u[i] == np.inf:
            return False
    for i in range(m):
        for j in range(m):
            v[j] = min(v[j], cost[i, j] - u[i])
    for j in range(m):
        if v[j] == np.inf:
            return False
    for i in range(m):
        for j in range(m):
            if row_of[j] < 0 and cost[i, j] - u[i] <= v[j]:
                column_of[i] = j
                row_of[j] = i
                break
    blocked = np.zeros(m, np.bool_)
    for i in range(m):
        if column_of[i] < 0 and augment(cost, i, column_of, row_of, u, v, blocked, np.inf, work) == np.inf:
            return False
    return True


@kernel
def complete(cost, column_of, row_of):
    """Give each row without a column the cheapest one that is left, staying within finite costs: O(n²)."""
    m = cost.shape[0]
    for i in range(m):
        if column_of[i] >= 0:
            continue
        best = -1
        for j in range(m):
            if row_of[j] < 0 and (best < 0 or cost[i, j] < cost[i, best]):
                best = j
        if cost[i, best] == np.inf:  # exchange it for the column of another row that may have it
            for k in range(m):
                other = column_of[k]
                if other >= 0 and cost[k, best] < np.inf and cost[i, other] < np.inf:
                    column_of[k] = best
                    row_of[best] = k
                    best = other
                    break
        column_of[i] = best
        row_of[best] = i


@kernel
def best_assignment(cost: np.ndarray) -> np.ndarray:
    """The columns of the rows in the cheapest assignment, or an empty array if every assignment is
    excluded.
    """
    m = cost.shape[0]
    column_of = np.empty(m, np.int64)
    work = np.full(1, UNLIMITED)
    if solve_assignment(cost, column_of, np.empty(m, np.int64), np.empty(m), np.empty(m), work):
        return column_of
    return column_of[:0]
