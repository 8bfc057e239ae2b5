"""The k best paths by branch and bound on the assignment relaxation (after Carpaneto, Dell'Amico and Toth
1995).

Best bound first. A node whose assignment is one tour yields that tour and is split further (Lawler), so k > 1
needs nothing new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from permparse.permutation._kernels import kernel
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


@kernel
def new_tree(limit, m):
    return Tree(
        np.empty(limit, np.int64),
        np.empty((limit, 2), np.int32),
        np.empty((limit, m), np.int16),
        np.empty((limit, m)),
        np.empty((limit, m), np.bool_),
    )


@kernel
def new_assignment(m):
    return Assignment(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m))


@kernel
def exclude_arcs(tree, node, cost, original, back):
    """Make the arcs excluded at a node infinite in ``cost``, or give them ``back`` their original costs."""
    while tree.parent[node] >= 0:
        row, column = tree.arc[node, 0], tree.arc[node, 1]
        cost[row, column] = original[row, column] if back else np.inf
        node = tree.parent[node]


@kernel
def load(tree, node, cost, found, blocked):
    """Restore the assignment of a node and the columns ``blocked`` by its fixed arcs."""
    for i in range(cost.shape[0]):
        found.v[i] = tree.prices[node, i]
    for i in range(cost.shape[0]):
        column = np.int64(tree.successor[node, i])
        found.successor[i] = column
        found.predecessor[column] = i
        found.u[i] = cost[i, column] - found.v[column]
        blocked[column] = tree.included[node, i]


@kernel
def store(tree, node, parent, row, column, found, included):
    tree.parent[node] = parent
    tree.arc[node, 0] = row
    tree.arc[node, 1] = column
    for i in range(included.shape[0]):
        tree.successor[node, i] = found.successor[i]
        tree.prices[node, i] = found.v[i]
        tree.included[node, i] = included[i]


@kernel
def without_arc(cost, row, found, blocked, room, child, work):
    """Fill ``child`` with the best assignment that avoids the arc out of ``row``, whose cost is infinite already.

    Returns False if it costs ``room`` more than ``found``, or there is none.
    """
    for i in range(cost.shape[0]):
        child.successor[i] = found.successor[i]
        child.predecessor[i] = found.predecessor[i]
        child.u[i] = found.u[i]
        child.v[i] = found.v[i]
    child.predecessor[found.successor[row]] = -1
    return augment(cost, row, child.successor, child.predecessor, child.u, child.v, blocked, room, work) < room


@kernel
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
        for i in range(successor.shape[0]):
            tours[at, i] = tours[at - 1, i]
        at -= 1
    costs[at] = cost
    for i in range(successor.shape[0]):
        tours[at, i] = successor[i]


@kernel
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


@kernel
def push(heap, bounds, count, node):
    """Add a node to the ``count`` that wait in a heap by their ``bounds``, ties by their number; the new count."""
    at = count
    while at > 0:
        above = heap[(at - 1) // 2]
        if bounds[above] < bounds[node] or (bounds[above] == bounds[node] and above < node):
            break
        heap[at] = above
        at = (at - 1) // 2
    heap[at] = node
    return count + 1


@kernel
def pop(heap, bounds, count):
    """Take the first of the ``count`` nodes that wait, and close the gap."""
    first, last, at = heap[0], heap[count - 1], 0
    while 2 * at + 1 < count - 1:
        below = 2 * at + 1
        if below + 1 < count - 1:
            a, b = heap[below], heap[below + 1]
            if bounds[b] < bounds[a] or (bounds[b] == bounds[a] and b < a):
                below += 1
        other = heap[below]
        if bounds[last] < bounds[other] or (bounds[last] == bounds[other] and last < other):
            break
        heap[at] = other
        at = below
    heap[at] = last
    return first


@kernel
def branch_and_bound(cost, tours, costs, node_limit, slack, work):
    """Find the k cheapest tours of ``cost`` [m, m]; infinite arcs are excluded.

    ``tours`` [k, m] and ``costs`` [k] hold successor arrays of distinct tours known so far (inf where there
    is none) and are improved in place. At most ``node_limit`` nodes are kept, and ``work`` [1] steps made. Returns a
    lower bound on the cost of every tour that is not among ``tours``, and the number of nodes made: O(n²) time and O(n)
    memory each.
    """
    m, k = cost.shape[0], costs.shape[0]
    original, cost = cost, cost.copy()
    tree = new_tree(max(1, min(node_limit, MEMORY // (11 * m + 48))), m)
    limit = tree.parent.shape[0]
    heap, bounds = np.empty(limit, np.int64), np.empty(limit)
    found, child = new_assignment(m), new_assignment(m)
    label, blocked = np.empty(m, np.int64), np.empty(m, np.bool_)
    if not solve_assignment(cost, found.successor, found.predecessor, found.u, found.v, work):
        return (-np.inf, 0) if work[0] <= 0 else (np.inf, 0)
    bounds[0] = successor_cost(cost, found.successor)
    store(tree, 0, -1, -1, -1, found, np.zeros(m, np.bool_))
    if label_cycles(found.successor, label) == 1:
        offer(tours, costs, found.successor, bounds[0])
    made, waiting = 1, push(heap, bounds, 0, 0)
    while waiting > 0:
        node = pop(heap, bounds, waiting)
        waiting -= 1
        bound = bounds[node]
        if bound >= costs[k - 1] - slack:
            return bound, made
        exclude_arcs(tree, node, cost, original, False)
        load(tree, node, cost, found, blocked)
        included = tree.included[node].copy()
        cycles = label_cycles(found.successor, label)
        rows = branching_cycle(found.successor, included, label, cycles)
        if 1 < cycles <= PATCHED_CYCLES or made == 1:
            for i in range(m):
                child.successor[i] = found.successor[i]
            if patch_cycles(cost, child.successor, label, cycles, work):
                offer(tours, costs, child.successor, successor_cost(cost, child.successor))
        for row in rows:
            if made == limit or work[0] <= 0:
                return bound, made
            column = found.successor[row]
            cost[row, column] = np.inf
            if without_arc(cost, row, found, blocked, costs[k - 1] - slack - bound, child, work):
                bounds[made] = max(bound, successor_cost(cost, child.successor))
                store(tree, made, node, row, column, child, included)
                waiting = push(heap, bounds, waiting, made)
                if label_cycles(child.successor, label) == 1:
                    offer(tours, costs, child.successor, bounds[made])
                made += 1
            elif work[0] <= 0:
                return bound, made
            cost[row, column] = original[row, column]
            included[row] = True
            blocked[column] = True
        exclude_arcs(tree, node, cost, original, True)
    return costs[k - 1], made
