"""Paths as tours through a depot, and the patching of an assignment's cycles into one tour (Karp 1979).

A path of n tokens is a tour of n + 1 nodes: node n, the depot, precedes the first token and follows the last.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel

THOROUGH = 20_000_000
"""Steps, about a tenth of a second, up to which cycles are patched by the cheapest of all exchanges."""


def tour_costs(start: np.ndarray, jump: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Costs (negated scores) of the arcs of the tour; staying at a node is excluded. *Shape:* [n + 1, n +
    1].
    """
    n = len(start)
    cost = np.empty((n + 1, n + 1))
    np.negative(jump, out=cost[:n, :n])
    np.negative(end, out=cost[:n, n])
    np.negative(start, out=cost[n, :n])
    np.fill_diagonal(cost, np.inf)
    return cost


def rounding_slack(cost: np.ndarray) -> float:
    """Differences between tour costs below this are rounding errors."""
    finite = np.abs(cost[np.isfinite(cost)])
    return 1e-13 * len(cost) * float(finite.max(initial=0.0))


def order_of(successor: np.ndarray) -> np.ndarray:
    """The tokens in the order in which the tour visits them after the depot; as many as its cycle has. *Shape:* [n]."""
    following, depot = successor.tolist(), len(successor) - 1
    order, node = [], following[depot]
    while node != depot:
        order.append(node)
        node = following[node]
    return np.array(order, dtype=np.int64)


def successors_of(order: np.ndarray) -> np.ndarray:
    """The inverse of `order_of` for a single tour. *Shape:* [n + 1]."""
    n = len(order)
    successor = np.empty(n + 1, np.int64)
    successor[n], successor[order[:-1]] = order[0], order[1:]
    successor[order[-1]] = n
    return successor


@kernel
def successor_cost(cost: np.ndarray, successor: np.ndarray) -> float:
    total = 0.0
    for i in range(cost.shape[0]):
        total += cost[i, successor[i]]
    return total


@kernel
def label_cycles(successor: np.ndarray, label: np.ndarray) -> int:
    """Number the cycles from 0, write each node's number into ``label``, return how many there are."""
    for i in range(successor.shape[0]):
        label[i] = -1
    cycles = 0
    for i in range(successor.shape[0]):
        if label[i] < 0:
            node = i
            while label[node] < 0:
                label[node] = cycles
                node = successor[node]
            cycles += 1
    return cycles


@kernel
def best_exchange(cost, successor, label, of):
    """The two nodes of different cycles whose successors are exchanged at the lowest cost, one of them on the cycle
    ``of`` (on any if that is negative); -1 if only excluded arcs would do."""
    m = successor.shape[0]
    best, first, second = np.inf, -1, -1
    for i in range(m):
        if of >= 0 and label[i] != of:
            continue
        for j in range(i + 1 if of < 0 else 0, m):
            if label[i] != label[j]:
                rise = (cost[i, successor[j]] - cost[i, successor[i]]) + (cost[j, successor[i]] - cost[j, successor[j]])
                if rise < best:
                    best, first, second = rise, i, j
    return first, second


@kernel
def patch_cycles(cost, successor, label, cycles, work):
    """Merge the cycles into one tour, in place, by exchanges of two successors.

    Always the cheapest exchange, O(n²) per merge, if that is at most ``THOROUGH`` steps in all; else the cheapest one
    for the smallest cycle: of k cycles it has at most n / k nodes, which makes O(n² log n) in all. When ``work`` [1] is
    used up, any exchange. Returns False if only excluded arcs could merge the cycles.
    """
    m = successor.shape[0]
    thorough = cycles * m * m // 2 <= min(work[0] // 4, THOROUGH)
    size = np.zeros(cycles, np.int64)
    for i in range(m):
        size[label[i]] += 1
    while cycles > 1:
        of = -1
        if not thorough:
            for cycle in range(size.shape[0]):
                if size[cycle] > 0 and (of < 0 or size[cycle] < size[of]):
                    of = cycle
        work[0] -= m * size[of] if of >= 0 else m * m // 2
        if work[0] > 0 or of < 0:
            first, second = best_exchange(cost, successor, label, of)
        else:
            first = second = 0
            while label[first] != of:
                first += 1
            while label[second] == of:
                second += 1
        if first < 0:
            return False
        successor[first], successor[second] = successor[second], successor[first]
        gone, kept = label[first], label[second]
        for i in range(m):
            if label[i] == gone:
                label[i] = kept
        size[kept] += size[gone]
        size[gone] = 0
        cycles -= 1
    return True
