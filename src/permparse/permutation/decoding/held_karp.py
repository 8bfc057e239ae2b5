"""The exact k best orders by dynamic programming over subsets (Held and Karp 1962), with position scores.

O(2^n n² k) time and O(2^n n k) memory: for small n, and as the yardstick of everything else.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel


@kernel
def held_karp(cost: np.ndarray, position: np.ndarray, k: int) -> np.ndarray:
    """The k cheapest orders, cheapest first, or all if there are fewer; infinite costs are excluded.

    ``cost`` [n + 1, n + 1] are the arcs of the tour through the depot, ``position`` [n, n] the cost of token
    i at place j. *Shape:* [number found, n].
    """
    n = cost.shape[0] - 1
    if n == 0:
        return np.empty((1, 0), np.int64)
    subsets = 1 << n
    # best[s, i, r]: r-th cheapest way to visit the tokens of s, ending in i; origin: (token before, its
    # rank).
    best = np.full((subsets, n, k), np.inf)
    origin = np.zeros((subsets, n, k), np.int32)
    for i in range(n):
        best[1 << i, i, 0] = cost[n, i] + position[i, 0]
    for subset in range(1, subsets):
        size = 0
        for i in range(n):
            size += (subset >> i) & 1
        if size == n:
            continue
        for last in range(n):
            if best[subset, last, 0] == np.inf:
                continue
            for token in range(n):
                if (subset >> token) & 1:
                    continue
                step = cost[last, token] + position[token, size]
                grown = subset | (1 << token)
                for r in range(k):
                    value = best[subset, last, r] + step
                    if not value < best[grown, token, k - 1]:
                        break
                    at = k - 1
                    while at > 0 and best[grown, token, at - 1] > value:
                        best[grown, token, at] = best[grown, token, at - 1]
                        origin[grown, token, at] = origin[grown, token, at - 1]
                        at -= 1
                    best[grown, token, at] = value
                    origin[grown, token, at] = last * k + r
    finals = np.empty(n * k)
    for last in range(n):
        for r in range(k):
            finals[last * k + r] = best[subsets - 1, last, r] + cost[last, n]
    orders = np.empty((k, n), np.int64)
    for t in range(k):
        state = int(np.argmin(finals))
        if finals[state] == np.inf:
            return orders[:t]
        finals[state] = np.inf
        subset = subsets - 1
        for j in range(n - 1, -1, -1):
            last = state // k
            orders[t, j] = last
            state = int(origin[subset, last, state % k])
            subset ^= 1 << last
    return orders
