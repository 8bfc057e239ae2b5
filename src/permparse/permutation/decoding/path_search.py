"""The best path of one problem without position scores: from the assignment bound to branch and bound,
cheapest first.

Each step is a kernel of its own, compiled when it is first needed: most problems need no more than the first.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation.decoding.assignment import complete, solve_assignment
from permparse.permutation.decoding.branch_and_bound import branch_and_bound
from permparse.permutation.decoding.local_search import descend_order, iterate
from permparse.permutation.decoding.tours import label_cycles, order_of, patch_cycles, rounding_slack, successors_of

QUICK_NODES = 300
"""Nodes of the first, short branch and bound."""


def search_path(
    cost: np.ndarray, starts: np.ndarray, nodes: int, kicks: int, seed: int, steps: int
) -> tuple[np.ndarray, float]:
    """Minimise the cost of a tour through all nodes of ``cost`` [n + 1, n + 1], all finite off the diagonal.

    1. Assignment relaxation: if it is a single tour, that is the best one.
    2. Its cycles patched, and every order of ``starts`` [s, n], improved by local search: if the bound is
      met, stop.
    3. Branch and bound with a few nodes, which settles most problems whose scores are not symmetric.
    4. If that proves nothing, ``kicks`` rounds of iterated local search.
    5. Branch and bound with at most ``nodes`` nodes.

    After about ``steps`` elementary steps, and O(n²) more, the best so far. Returns the order and a lower bound on the
    cost of every order.
    """
    m = len(cost)
    work = np.array([steps], dtype=np.int64)
    successor, predecessor, u, v = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m)
    if solve_assignment(cost, successor, predecessor, u, v, work):
        bound = _total(cost, successor)
        order = order_of(successor)
        if len(order) == m - 1:
            return order, bound
    else:
        bound = float(u.sum() + v.sum())
        complete(cost, successor, predecessor)
    slack = rounding_slack(cost)
    label = np.empty(m, np.int64)
    patch_cycles(cost, successor, label, label_cycles(successor, label), work)
    found = [successors_of(descend_order(cost, start, slack, work)) for start in (order_of(successor), *starts)]
    tours = np.array(min(found, key=lambda tour: _total(cost, tour)))[None]
    costs = np.array([_total(cost, tours[0])])
    if nodes > 0 and costs[0] > bound + slack and work[0] > 0:
        bound = max(bound, branch_and_bound(cost, tours, costs, min(nodes, QUICK_NODES), slack, work)[0])
    if kicks > 0 and costs[0] > bound + slack:
        tours[0] = successors_of(iterate(cost, order_of(tours[0]), kicks, bound, seed, slack, work))
        costs[0] = _total(cost, tours[0])
    if nodes > QUICK_NODES and costs[0] > bound + slack and work[0] > 0:
        bound = max(bound, branch_and_bound(cost, tours, costs, nodes, slack, work)[0])
    return order_of(tours[0]), min(float(costs[0]), bound)


def _total(cost: np.ndarray, successor: np.ndarray) -> float:
    """The cost of all arcs, added one by one as the kernels do."""
    return float(np.cumsum(cost[np.arange(len(successor)), successor])[-1])
