"""Beam search over jumps: orders grow token by token, and the best few beginnings are kept. To compare with.

It sees no farther than the next jump, so it needs a wide beam where the search of `decode` needs none.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation.decoding.dispatch import relaxed_bound
from permparse.permutation.decoding.instance import Instance, Integers, instances
from permparse.permutation.decoding.result import Decoded
from permparse.permutation.problem import JumpProblem


def beam_orders(problem: JumpProblem, width: int = 5) -> list[Decoded]:
    """The best order of each example that a beam of so many beginnings finds. O(width n²) time, O(width n) memory."""
    if width < 1:
        raise ValueError(f"width: expected at least 1, got {width}")
    return [_decoded(instance, width) for instance in instances(problem)]


def _decoded(instance: Instance, width: int) -> Decoded:
    if instance.size == 0:
        return Decoded([], 0.0, 0.0, True)
    return instance.decoded(_best_order(instance, width), relaxed_bound(instance))


def _best_order(instance: Instance, width: int) -> Integers:
    """The order whose beginnings are never worse than the ``width`` best of their length."""
    n, position = instance.size, instance.position_or_zero
    orders = np.zeros((1, 0), dtype=np.int64)
    last, cost = np.array([n]), np.zeros(1)
    for j in range(n):
        longer = cost[:, None] + instance.cost[last, :n] + position[:, j]
        if j == n - 1:
            longer = longer + instance.cost[:n, n]
        # Tokens that are used already come behind all others, even behind those of infinite cost.
        np.put_along_axis(longer, orders, np.nan, axis=1)
        best = np.argsort(longer, axis=None, kind="stable")[: min(width, len(orders) * (n - j))]
        rows, tokens = np.divmod(best, n)
        orders = np.concatenate([orders[rows], tokens[:, None]], axis=1)
        last, cost = tokens, longer[rows, tokens]
    return orders[0]
