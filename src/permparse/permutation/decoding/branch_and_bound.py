"""The k best paths by branch and bound on the assignment relaxation (after Carpaneto, Dell'Amico and Toth
1995).

Best bound first. A node whose assignment is one tour yields that tour and is split further (Lawler), so k > 1
needs nothing new.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

from permparse.permutation.decoding.assignment import augment, solve_assignment
from permparse.permutation.decoding.tours import label_cycles, patch_cycles, successor_cost

MEMORY = 256 * 1024 * 1024
"""Bytes that the nodes of one problem may take."""
PATCHED_CYCLES = 8
"""Nodes with more cycles are not worth the O(n²) per cycle of making a tour of them."""


class Tree(NamedTuple):
    """The nodes made so far; row prices follow from the rest, excluded arcs from the ancestors."""

    parent: np.ndarray
    """*Shape:* [nodes]. -1 for the root."""
    arc: np.ndarray
    """*Shape:* [nodes, 2]. The arc that a node excludes and its parent does not."""
    successor: np.ndarray
    """*Shape:* [nodes, m]. The best assignment."""
    prices: np.ndarray
    """*Shape:* [nodes, m]. Column prices of that assignment."""
    included: np.ndarray
    """*Shape:* [nodes, m]. The arcs out of these rows are fixed."""


class Assignment(NamedTuple):
    """An assignment of successors with its prices; updated in place."""

    successor: np.ndarray
    predecessor: np.ndarray
    u: np.ndarray
    v: np.ndarray


@njit(cache=True, nogil=True)
def new_tree(limit, m):
    return Tree(
        np.empty(limit, np.int64),
        np.empty((limit, 2), np.int32),
        np.empty((limit, m), np.int16),
        np.empty((limit, m)),
        np.empty((limit, m), np.bool_),
    )


@njit(cache=True, nogil=True)
def new_assignment(m):
    return Assignment(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m))


@njit(cache=True, nogil=True)
def exclude_arcs(tree, node, cost, original, back):
    """Make the arcs excluded at a node infinite in ``cost``, or give them ``back`` their original costs."""
    while tree.parent[node] >= 0:
        row, column = tree.arc[node, 0], tree.arc[node, 1]
        cost[row, column] = original[row, column] if back else np.inf
        node = tree.parent[node]


@njit(cache=True, nogil=True)
def load(tree, node, cost, found, blocked):
    """Restore the assignment of a node and the columns ``blocked`` by its fixed arcs."""
    found.successor[:] = tree.successor[node]
    found.v[:] = tree.prices[node]
    for i in range(cost.shape[0]):
        column = found.successor[i]
        found.predecessor[column] = i
        found.u[i] = cost[i, column] - found.v[column]
        blocked[column] = tree.included[node, i]


@njit(cache=True, nogil=True)
def store(tree, node, parent, row, column, found, included):
    tree.parent[node] = parent
    tree.arc[node, 0] = row
    tree.arc[node, 1] = column
    tree.successor[node] = found.successor
    tree.prices[node] = found.v
    tree.included[node] = included


@njit(cache=True, nogil=True)
def without_arc(cost, row, found, blocked, room, child):
    """Fill ``child`` with the best assignment that avoids the arc out of ``row``, whose cost is infinite already.

    Returns False if it costs ``room`` more than ``found``, or there is none.
    """
    child.successor[:] = found.successor
    child.predecessor[:] = found.predecessor
    child.predecessor[found.successor[row]] = -1
    child.u[:] = found.u
    child.v[:] = found.v
    return augment(cost, row, child.successor, child.predecessor, child.u, child.v, blocked, room) < room


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
    m, k = cost.shape[0], costs.shape[0]
    original, cost = cost, cost.copy()
    tree = new_tree(max(1, min(node_limit, MEMORY // (11 * m + 32))), m)
    found, child = new_assignment(m), new_assignment(m)
    label, blocked = np.empty(m, np.int64), np.empty(m, np.bool_)
    if not solve_assignment(cost, found.successor, found.predecessor, found.u, found.v):
        return np.inf, 0
    bound = successor_cost(cost, found.successor)
    store(tree, 0, -1, -1, -1, found, np.zeros(m, np.bool_))
    if label_cycles(found.successor, label) == 1:
        offer(tours, costs, found.successor, bound)
    made = 1
    heap = [(bound, 0)]
    while len(heap) > 0:
        bound, node = heappop(heap)
        if bound >= costs[k - 1] - slack:
            return bound, made
        exclude_arcs(tree, node, cost, original, False)
        load(tree, node, cost, found, blocked)
        included = tree.included[node].copy()
        cycles = label_cycles(found.successor, label)
        rows = branching_cycle(found.successor, included, label, cycles)
        if 1 < cycles <= PATCHED_CYCLES or made == 1:
            child.successor[:] = found.successor
            if patch_cycles(cost, child.successor, label, cycles):
                offer(tours, costs, child.successor, successor_cost(cost, child.successor))
        for row in rows:
            if made == tree.parent.shape[0]:
                return bound, made
            column = found.successor[row]
            cost[row, column] = np.inf
            if without_arc(cost, row, found, blocked, costs[k - 1] - slack - bound, child):
                child_bound = max(bound, successor_cost(cost, child.successor))
                store(tree, made, node, row, column, child, included)
                heappush(heap, (child_bound, made))
                made += 1
                if label_cycles(child.successor, label) == 1:
                    offer(tours, costs, child.successor, child_bound)
            cost[row, column] = original[row, column]
            included[row] = True
            blocked[column] = True
        exclude_arcs(tree, node, cost, original, True)
    return costs[k - 1], made
