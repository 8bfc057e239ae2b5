"""`k_best`: alternatives to the best order, best first, each with what is known about its rank.

Dynamic programming for few tokens, branch and bound for many; with position scores and many tokens, the
orders nearby.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel
from permparse.permutation.decoding.assignment import UNLIMITED
from permparse.permutation.decoding.branch_and_bound import branch_and_bound, offer
from permparse.permutation.decoding.dispatch import in_parallel, search
from permparse.permutation.decoding.held_karp import held_karp
from permparse.permutation.decoding.instance import Floats, Instance, Integers, instances
from permparse.permutation.decoding.positional import (
    LONGEST_MOVED,
    apply_move,
    move_exists,
    order_cost,
    undo_move,
)
from permparse.permutation.decoding.result import Decoded
from permparse.permutation.decoding.tours import order_of, successors_of
from permparse.permutation.problem import JumpProblem

QUICK_TABLE = 200_000
"""Dynamic programming with a table of at most so many entries is faster than branch and bound."""
LARGEST_TABLE = 4_000_000
"""The largest table where there is no other exact method (50 MB)."""
ROUNDS_NEARBY = 3
"""How many times the neighbours of all orders on the list are looked at."""


def k_best(
    problem: JumpProblem,
    k: int,
    *,
    nodes: int = 20_000,
    steps: int = UNLIMITED,
    seed: int = 0,
    threads: int | None = None,
) -> list[list[Decoded]]:
    """The k distinct orders with the highest scores for every example, best first (all orders if there are
    fewer).

    ``proven_optimal`` of the entry at rank r says that it is the r-th best order; ``bound`` limits the score
    of the r-th best. Exact while branch and bound needs at most ``nodes`` nodes (position scores or
    ``allowed``: up to about 14 tokens) and ``steps`` elementary steps; beyond, the best orders met.
    """
    if k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    return in_parallel(lambda instance: _rank(instance, k, nodes, steps, seed), instances(problem), threads)


def _rank(instance: Instance, k: int, nodes: int, steps: int, seed: int) -> list[Decoded]:
    n = instance.size
    if n == 0:
        return [Decoded([], 0.0, 0.0, True)]
    table = 2**n * n * k
    if table <= (QUICK_TABLE if instance.position is None else LARGEST_TABLE):
        return _rank_by_table(instance, k)
    best = search(instance, [], 300, None, seed, steps)
    if instance.position is None:
        orders, costs, bound = _rank_by_branching(instance, best, k, nodes, steps)
    else:
        orders, costs = np.full((k, n), -1), np.full(k, np.inf)
        orders[0], costs[0], bound = best.order, -best.score, -best.bound
    if costs[-1] > bound + instance.slack and k * n**3 * 50 <= steps:
        offer_nearby(instance.cost, instance.position_or_zero, orders, costs)
    return [
        instance.decoded(order, min(cost, bound)) for order, cost in zip(orders, costs, strict=True) if cost < np.inf
    ]


def _rank_by_table(instance: Instance, k: int) -> list[Decoded]:
    ranked = []
    for order in held_karp(instance.cost, instance.position_or_zero, k):
        result = instance.decoded(order, -np.inf)
        ranked.append(Decoded(result.order, result.score, result.score, True))
    return ranked


def _rank_by_branching(
    instance: Instance, best: Decoded, k: int, nodes: int, steps: int
) -> tuple[Integers, Floats, float]:
    """Orders [k, n], their costs (infinite where there is none) and a lower bound on the cost of all other
    orders.
    """
    n = instance.size
    tours = np.full((k, n + 1), -1)
    costs = np.full(k, np.inf)
    tours[0] = successors_of(np.array(best.order, dtype=np.int64))
    costs[0] = -best.score
    work = np.array([steps], dtype=np.int64)
    bound, _ = branch_and_bound(instance.cost, tours, costs, nodes, instance.slack, work)
    orders = np.full((k, n), -1)
    for rank in range(int(np.isfinite(costs).sum())):
        orders[rank] = order_of(tours[rank])
    return orders, costs, bound


@kernel
def offer_nearby(cost, position, orders, costs):
    """Improve a list of the k cheapest orders by the neighbours of those on it; O(k n³) per round."""
    n = orders.shape[1]
    for _ in range(ROUNDS_NEARBY):
        seeds = orders.copy()
        known = costs.copy()
        for rank in range(seeds.shape[0]):
            if known[rank] == np.inf:
                break
            order = seeds[rank]
            for i in range(n):
                for j in range(i + 1, n):
                    for kind in range(2 + 2 * LONGEST_MOVED):
                        if move_exists(kind, i, j):
                            apply_move(order, kind, i, j)
                            offer(orders, costs, order, order_cost(cost, position, order))
                            undo_move(order, kind, i, j)
