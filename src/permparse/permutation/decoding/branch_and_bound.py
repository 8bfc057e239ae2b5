"""The k best paths by branch and bound on the assignment relaxation (after Carpaneto, Dell'Amico and Toth
1995).

Best bound first. A node whose assignment is one tour yields that tour and is split further (Lawler), so k > 1
needs nothing new.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit

from permparse.permutation.decoding.assignment import augment, solve_assignment
from permparse.permutation.decoding.tours import label_cycles, patch_cycles, successor_cost

MEMORY = 256 * 1024 * 1024
"""Bytes that the nodes of one problem may take."""
PATCHED_CYCLES = 8
"""Nodes with more cycles are not worth the O(n²) per cycle of making a tour of them."""


@njit(cache=True, nogil=True)
def offer(tours: np.ndarray, costs: np.ndarray, successor: np.ndarray, cost: float) -> None:
    """Insert a tour into the k cheapest, kept in ascending order, unless it is there already or costs too
    much.
    """
    k = costs.shape[0]
    if not cost < costs[k - 1]:
        return
    for t in range(k):
        same = costs[t] < np.inf
        i = 0
        while same and i < successor.shape[0]:
            same = tours[t, i] == successor[i]
            i += 1
        if same:
            return
    at = k - 1
    while at > 0 and costs[at - 1] > cost:
        costs[at] = costs[at - 1]
        tours[at] = tours[at - 1]
        at -= 1
    costs[at] = cost
    tours[at] = successor


@njit(cache=True, nogil=True)
def branching_cycle(successor: np.ndarray, included: np.ndarray, label: np.ndarray, cycles: int) -> np.ndarray:
    """The nodes, in the order of the cycle, with a free arc on the cycle that has the fewest of them."""
    m = successor.shape[0]
    free = np.zeros(cycles, np.int64)
    for i in range(m):
        if not included[i]:
            free[label[i]] += 1
    chosen = 0
    for c in range(cycles):
        if free[c] < free[chosen]:
            chosen = c
    rows = np.empty(free[chosen], np.int64)
    first = 0
    while label[first] != chosen:
        first += 1
    node = first
    count = 0
    while True:
        if not included[node]:
            rows[count] = node
            count += 1
        node = successor[node]
        if node == first:
            return rows


@njit(cache=True, nogil=True)
def branch_and_bound(cost, tours, costs, node_limit, slack):
    """Find the k cheapest tours of ``cost`` [m, m]; infinite arcs are excluded.

    ``tours`` [k, m] and ``costs`` [k] hold successor arrays of distinct tours known so far (inf where there
    is none) and are improved in place. At most ``node_limit`` nodes are kept. Returns a lower bound on the
    cost of every tour that is not among ``tours``, and the number of nodes made: O(n²) time and O(n) memory
    each.
    """
    m = cost.shape[0]
    k = costs.shape[0]
    original = cost
    cost = original.copy()
    node_limit = max(1, min(node_limit, MEMORY // (11 * m + 32)))

    # State of a node; its row prices follow from the rest, its excluded arcs from its ancestors.
    node_bound = np.empty(node_limit)
    node_parent = np.empty(node_limit, np.int64)
    node_arc = np.empty((node_limit, 2), np.int32)
    node_successor = np.empty((node_limit, m), np.int16)
    node_prices = np.empty((node_limit, m))
    node_included = np.empty((node_limit, m), np.bool_)

    successor = np.empty(m, np.int64)
    predecessor = np.empty(m, np.int64)
    u = np.empty(m)
    v = np.empty(m)
    label = np.empty(m, np.int64)
    if not solve_assignment(cost, successor, predecessor, u, v):
        return np.inf, 0
    bound = successor_cost(cost, successor)
    node_bound[0] = bound
    node_parent[0] = -1
    node_successor[0] = successor
    node_prices[0] = v
    node_included[0] = False
    made = 1
    heap = [(bound, 0)]
    if label_cycles(successor, label) == 1:
        offer(tours, costs, successor, bound)

    child_successor = np.empty(m, np.int64)
    child_predecessor = np.empty(m, np.int64)
    blocked = np.empty(m, np.bool_)
    while len(heap) > 0:
        bound, node = heappop(heap)
        if bound >= costs[k - 1] - slack:
            return bound, made
        successor[:] = node_successor[node]
        v[:] = node_prices[node]
        included = node_included[node].copy()
        ancestor = node
        while node_parent[ancestor] >= 0:
            cost[node_arc[ancestor, 0], node_arc[ancestor, 1]] = np.inf
            ancestor = node_parent[ancestor]
        for i in range(m):
            predecessor[successor[i]] = i
            u[i] = cost[i, successor[i]] - v[successor[i]]
            blocked[successor[i]] = included[i]

        cycles = label_cycles(successor, label)
        rows = branching_cycle(successor, included, label, cycles)
        if 1 < cycles <= PATCHED_CYCLES or made == 1:
            child_successor[:] = successor
            if patch_cycles(cost, child_successor, label, cycles):
                offer(tours, costs, child_successor, successor_cost(cost, child_successor))

        for row in rows:
            if made == node_limit:
                return bound, made
            column = successor[row]
            cost[row, column] = np.inf
            child_successor[:] = successor
            child_predecessor[:] = predecessor
            child_predecessor[column] = -1
            child_u = u.copy()
            child_v = v.copy()
            room = costs[k - 1] - slack - bound
            rise = augment(cost, row, child_successor, child_predecessor, child_u, child_v, blocked, room)
            if rise < room:
                child_bound = max(bound, successor_cost(cost, child_successor))
                node_bound[made] = child_bound
                node_parent[made] = node
                node_arc[made, 0] = row
                node_arc[made, 1] = column
                node_successor[made] = child_successor
                node_prices[made] = child_v
                node_included[made] = included
                heappush(heap, (child_bound, made))
                made += 1
                if label_cycles(child_successor, label) == 1:
                    offer(tours, costs, child_successor, child_bound)
            cost[row, column] = original[row, column]
            included[row] = True
            blocked[column] = True

        ancestor = node
        while node_parent[ancestor] >= 0:
            row, column = node_arc[ancestor]
            cost[row, column] = original[row, column]
            ancestor = node_parent[ancestor]
    return costs[k - 1], made
