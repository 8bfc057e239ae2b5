"""The best path of one problem without position scores: from the assignment bound to branch and bound,
cheapest first.

One compiled function per example, so that a pool of threads decodes a batch in parallel.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from permparse.permutation.decoding.assignment import solve_assignment
from permparse.permutation.decoding.branch_and_bound import branch_and_bound
from permparse.permutation.decoding.local_search import descend_order, iterate
from permparse.permutation.decoding.tours import (
    label_cycles,
    order_of,
    patch_cycles,
    rounding_slack,
    successor_cost,
    successors_of,
)

QUICK_NODES = 300
"""Nodes of the first, short branch and bound."""


@njit(cache=True, nogil=True)
def search_path(cost, starts, nodes, kicks, seed):
    """Minimise the cost of a tour through all nodes of ``cost`` [n + 1, n + 1], all finite off the diagonal.

    1. Assignment relaxation: if it is a single tour, that is the best one.
    2. Its cycles patched, and every order of ``starts`` [s, n], improved by local search: if the bound is
      met, stop.
    3. Branch and bound with a few nodes, which settles most problems whose scores are not symmetric.
    4. If that proves nothing, ``kicks`` rounds of iterated local search.
    5. Branch and bound with at most ``nodes`` nodes.

    Returns the order, its cost and a lower bound on the cost of every order.
    """
    m = cost.shape[0]
    slack = rounding_slack(cost)
    successor = np.empty(m, np.int64)
    label = np.empty(m, np.int64)
    solve_assignment(cost, successor, np.empty(m, np.int64), np.empty(m), np.empty(m))
    bound = successor_cost(cost, successor)
    cycles = label_cycles(successor, label)
    if cycles == 1:
        return order_of(successor), bound, bound
    patch_cycles(cost, successor, label, cycles)
    tours = np.empty((1, m), np.int64)
    costs = np.empty(1)
    tours[0] = successors_of(descend_order(cost, order_of(successor), slack))
    costs[0] = successor_cost(cost, tours[0])
    for s in range(starts.shape[0]):
        successor = successors_of(descend_order(cost, starts[s], slack))
        found = successor_cost(cost, successor)
        if found < costs[0]:
            costs[0] = found
            tours[0] = successor
    if nodes > 0 and costs[0] > bound + slack:
        bound = branch_and_bound(cost, tours, costs, min(nodes, QUICK_NODES), slack)[0]
    if kicks > 0 and costs[0] > bound + slack:
        tours[0] = successors_of(iterate(cost, order_of(tours[0]), kicks, bound, seed, slack))
        costs[0] = successor_cost(cost, tours[0])
    if nodes > QUICK_NODES and costs[0] > bound + slack:
        bound = branch_and_bound(cost, tours, costs, nodes, slack)[0]
    return order_of(tours[0]), costs[0], min(costs[0], bound)
