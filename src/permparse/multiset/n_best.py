"""The n most likely multisets under the independent counts of the tagger, exactly and best first.

The cells are independent, so the best alternatives differ from the argmax in the few cells with the smallest
loss.
"""

from __future__ import annotations

import heapq

import numpy as np


def n_best_counts(log_probs: np.ndarray, n: int) -> list[tuple[np.ndarray, float]]:
    """The n best assignments of one count to every cell, with their log probabilities, best first.

    Fewer than n are returned if no more have a positive probability. *Shape:* log_probs [m, V, K+1] -> counts
    [m, V]. O(m V K log K + n² log n) time: only the n cells that are cheapest to change can change in any of
    the n best.
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1, got {n}")
    positions, symbols, choices = log_probs.shape
    cells = log_probs.astype(np.float64).reshape(-1, choices)
    ranking = np.argsort(-cells, axis=1, kind="stable")
    ranked = np.take_along_axis(cells, ranking, 1)
    best = ranking[:, 0].copy()
    best_log_prob = float(ranked[:, 0].sum())
    results = [(best.reshape(positions, symbols), best_log_prob)]
    if choices == 1 or not cells.size:
        return results

    losses = ranked[:, :1] - ranked  # losses[c, r]: what choosing the r-th best count in cell c costs
    order = np.argsort(losses[:, 1], kind="stable")[:n]
    # A state is (loss, changes): changes pairs indices into `order`, increasing, with ranks >= 1. Each state
    # but the argmax has one parent of no greater loss (lower the last rank; if it is 1, move it to the
    # previous cell or, where that is taken, drop it).
    heap: list[tuple[float, tuple[tuple[int, int], ...]]] = [(float(losses[order[0], 1]), ((0, 1),))]
    while heap and len(results) < n:
        loss, changes = heapq.heappop(heap)
        if not np.isfinite(loss):
            break
        counts = best.copy()
        for index, rank in changes:
            counts[order[index]] = ranking[order[index], rank]
        results.append((counts.reshape(positions, symbols), best_log_prob - loss))
        last, rank = changes[-1]
        here = losses[order[last]]
        if rank + 1 < choices:
            heapq.heappush(heap, (loss - here[rank] + here[rank + 1], (*changes[:-1], (last, rank + 1))))
        if last + 1 < len(order):
            step = losses[order[last + 1], 1]
            heapq.heappush(heap, (loss + step, (*changes, (last + 1, 1))))
            if rank == 1:
                heapq.heappush(heap, (loss - here[1] + step, (*changes[:-1], (last + 1, 1))))
    return results
