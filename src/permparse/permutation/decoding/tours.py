"""Paths as tours through a depot, and the patching of an assignment's cycles into one tour (Karp 1979).

A path of n tokens is a tour of n + 1 nodes: node n, the depot, precedes the first token and follows the last.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def tour_costs(start: np.ndarray, jump: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Costs (negated scores) of the arcs of the tour; staying at a node is excluded. *Shape:* [n + 1, n +
    1].
    """
    n = start.shape[0]
    cost = np.empty((n + 1, n + 1))
    for k in range(n):
        for i in range(n):
            cost[k, i] = -jump[k, i]
        cost[k, n] = -end[k]
        cost[n, k] = -start[k]
        cost[k, k] = np.inf
    cost[n, n] = np.inf
    return cost


@njit(cache=True, nogil=True)
def rounding_slack(cost: np.ndarray) -> float:
    """Differences between tour costs below this are rounding errors."""
    largest = 0.0
    for i in range(cost.shape[0]):
        for j in range(cost.shape[0]):
            if abs(cost[i, j]) != np.inf:
                largest = max(largest, abs(cost[i, j]))
    return 1e-13 * cost.shape[0] * largest


@njit(cache=True, nogil=True)
def successor_cost(cost: np.ndarray, successor: np.ndarray) -> float:
    total = 0.0
    for i in range(cost.shape[0]):
        total += cost[i, successor[i]]
    return total


@njit(cache=True, nogil=True)
def order_of(successor: np.ndarray) -> np.ndarray:
    """The tokens in the order in which the tour visits them after the depot. *Shape:* [n]."""
    n = successor.shape[0] - 1
    order = np.empty(n, np.int64)
    node = successor[n]
    for j in range(n):
        order[j] = node
        node = successor[node]
    return order


@njit(cache=True, nogil=True)
def successors_of(order: np.ndarray) -> np.ndarray:
    """The inverse of `order_of`. *Shape:* [n + 1]."""
    n = order.shape[0]
    successor = np.empty(n + 1, np.int64)
    node = n
    for j in range(n):
        successor[node] = order[j]
        node = order[j]
    successor[node] = n
    return successor


@njit(cache=True, nogil=True)
def label_cycles(successor: np.ndarray, label: np.ndarray) -> int:
    """Number the cycles from 0, write each node's number into ``label``, return how many there are."""
    label[:] = -1
    cycles = 0
    for i in range(successor.shape[0]):
        if label[i] < 0:
            node = i
            while label[node] < 0:
                label[node] = cycles
                node = successor[node]
            cycles += 1
    return cycles


@njit(cache=True, nogil=True)
def patch_cycles(cost: np.ndarray, successor: np.ndarray, label: np.ndarray, cycles: int) -> bool:
    """Merge the cycles into one tour, in place, always by the cheapest exchange of two successors.

    O(n²) per merge. Returns False if only excluded arcs could merge them.
    """
    m = successor.shape[0]
    while cycles > 1:
        best = np.inf
        first = -1
        second = -1
        for i in range(m):
            for j in range(i + 1, m):
                if label[i] != label[j]:
                    rise = (cost[i, successor[j]] - cost[i, successor[i]]) + (
                        cost[j, successor[i]] - cost[j, successor[j]]
                    )
                    if rise < best:
                        best = rise
                        first = i
                        second = j
        if first < 0:
            return False
        successor[first], successor[second] = successor[second], successor[first]
        gone = label[second]
        for i in range(m):
            if label[i] == gone:
                label[i] = label[first]
        cycles -= 1
    return True
