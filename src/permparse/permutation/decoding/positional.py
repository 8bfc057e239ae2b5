"""Decoding with position scores or a restriction of places: local search, and a bound by Lagrangian
relaxation.

The bound lets a token be visited any number of times, at a price that is adjusted until the visits even out.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel
from permparse.permutation.decoding.assignment import best_assignment
from permparse.permutation.decoding.local_search import exchange_segments, next_random, random_state, reverse

WORK = 40_000_000
"""Elementary steps, very roughly, that the bound (n³ per round) and the kicks (200 n² each) may take."""
PRICE_ROUNDS = 150
LONGEST_MOVED = 3
"""Longest segment that is moved elsewhere."""


@kernel
def order_cost(cost: np.ndarray, position: np.ndarray, order: np.ndarray) -> float:
    """The cost of an order: arcs of the tour through the depot, and places."""
    n = order.shape[0]
    if n == 0:
        return 0.0
    total = cost[n, order[0]] + cost[order[n - 1], n] + position[order[0], 0]
    for j in range(1, n):
        total += cost[order[j - 1], order[j]] + position[order[j], j]
    return total


@kernel
def window_cost(cost: np.ndarray, position: np.ndarray, order: np.ndarray, first: int, last: int) -> float:
    """The part of `order_cost` that depends on the tokens at places first..last."""
    n = order.shape[0]
    total = cost[order[first - 1] if first > 0 else n, order[first]]
    for j in range(first, last + 1):
        total += position[order[j], j] + cost[order[j], order[j + 1] if j + 1 < n else n]
    return total


@kernel
def apply_move(order: np.ndarray, kind: int, i: int, j: int) -> None:
    """Change the tokens at places i..j: 0 swaps the two ends, 1 reverses, 2, 3, ... moves segments across
    the rest.
    """
    if kind == 0:
        order[i], order[j] = order[j], order[i]
    elif kind == 1:
        reverse(order, i, j)
    elif kind < 2 + LONGEST_MOVED:
        exchange_segments(order, i - 1, i + kind - 2, j)
    else:
        exchange_segments(order, i - 1, j - 1 - (kind - 2 - LONGEST_MOVED), j)


@kernel
def undo_move(order: np.ndarray, kind: int, i: int, j: int) -> None:
    if kind < 2:
        apply_move(order, kind, i, j)
    elif kind < 2 + LONGEST_MOVED:
        apply_move(order, kind + LONGEST_MOVED, i, j)
    else:
        apply_move(order, kind - LONGEST_MOVED, i, j)


@kernel
def move_exists(kind: int, i: int, j: int) -> bool:
    """Whether the move fits between i < j and is not the same as one of a smaller kind."""
    if kind == 0:
        return True
    if kind == 1:
        return j - i >= 3
    return j - i > (kind - 2) % LONGEST_MOVED + (1 if kind < 2 + LONGEST_MOVED else 0)


@kernel
def activate(active: np.ndarray, place: int) -> None:
    """Mark a place and its neighbours."""
    active[max(place - 1, 0) : place + 2] = True


@kernel
def descend_positional(cost, position, order, active, slack):
    """Apply improving moves with an end at an ``active`` place, in place, until a round over them finds none."""
    n = order.shape[0]
    for _ in range(20 * n):
        changed = np.zeros(n, np.bool_)
        for i in range(n):
            for j in range(i + 1, n):
                if not (active[i] or active[j]):
                    continue
                before = window_cost(cost, position, order, i, j)
                for kind in range(2 + 2 * LONGEST_MOVED):
                    if not move_exists(kind, i, j):
                        continue
                    apply_move(order, kind, i, j)
                    after = window_cost(cost, position, order, i, j)
                    if after < before - slack:
                        before = after
                        activate(changed, i)
                        activate(changed, j)
                    else:
                        undo_move(order, kind, i, j)
        active[:] = changed
        if not changed.any():
            return


@kernel
def kick_positional(position, order, active, state):
    """Swap three random pairs of tokens that may stand at each other's place; mark the places."""
    n = order.shape[0]
    swaps = 0
    for _ in range(20 * n):
        i = next_random(state, n)
        j = next_random(state, n)
        if i != j and position[order[i], j] < np.inf and position[order[j], i] < np.inf:
            order[i], order[j] = order[j], order[i]
            activate(active, i)
            activate(active, j)
            swaps += 1
            if swaps == 3:
                return


@kernel
def cheapest_walk(cost, position, price, walk):
    """The cheapest sequence of n tokens, repetitions allowed, when each visit of token i costs ``price[i]``
    more.
    """
    n = position.shape[0]
    value = np.empty(n)
    following = np.empty(n)
    origin = np.empty((n, n), np.int64)
    for i in range(n):
        value[i] = cost[n, i] + position[i, 0] + price[i]
    for j in range(1, n):
        for i in range(n):
            best = np.inf
            before = 0
            for k in range(n):
                through = value[k] + cost[k, i]
                if through < best:
                    best = through
                    before = k
            origin[j, i] = before
            following[i] = best + position[i, j] + price[i]
        value[:] = following
    last = 0
    for i in range(n):
        if value[i] + cost[i, n] < value[last] + cost[last, n]:
            last = i
    total = value[last] + cost[last, n]
    for j in range(n - 1, -1, -1):
        walk[j] = last
        if j > 0:
            last = origin[j, last]
    return total


@kernel
def priced_bound(cost, position, order, slack):
    """A lower bound on the cost of every order, by subgradient steps on the prices of visits.

    ``order`` is the best one known and is replaced when the walks meet a better one. O(n³) per round.
    """
    n = order.shape[0]
    price = np.zeros(n)
    walk = np.empty(n, np.int64)
    visits = np.empty(n)
    known = order_cost(cost, position, order)
    bound = -np.inf
    step = 1.0
    stalled = 0
    for _ in range(min(PRICE_ROUNDS, 1 + WORK // n**3)):
        value = cheapest_walk(cost, position, price, walk) - price.sum()
        visits[:] = -1.0
        for token in walk:
            visits[token] += 1.0
        uneven = (visits * visits).sum()
        if uneven == 0.0 and value < known:
            order[:] = walk
            known = order_cost(cost, position, order)
        stalled += 1
        if value > bound:
            bound = value
            stalled = 0
        if uneven == 0.0 or known <= bound + slack:
            break
        if stalled == 5:
            step *= 0.5
            stalled = 0
        price += step * (known - value) / uneven * visits
    return bound


@kernel
def search_positional(cost, position, starts, kicks, seed, slack):
    """Minimise arc and position costs over orders, from the cheapest order by position alone and from
    ``starts`` [s, n].

    There must be an order of finite cost. Returns the best order found and a lower bound on the cost of every
    order.
    """
    n = position.shape[0]
    place_of = best_assignment(position)
    best = np.empty(n, np.int64)
    for i in range(n):
        best[place_of[i]] = i
    descend_positional(cost, position, best, np.ones(n, np.bool_), slack)
    best_cost = order_cost(cost, position, best)
    for s in range(starts.shape[0]):
        order = starts[s].copy()
        if order_cost(cost, position, order) < np.inf:
            descend_positional(cost, position, order, np.ones(n, np.bool_), slack)
            found = order_cost(cost, position, order)
            if found < best_cost:
                best_cost = found
                best = order
    bound = priced_bound(cost, position, best, slack)
    best_cost = order_cost(cost, position, best)
    state = random_state(seed)
    active = np.zeros(n, np.bool_)
    for _ in range(min(kicks, 1 + WORK // (200 * n**2))):
        if best_cost <= bound + slack:
            break
        order = best.copy()
        kick_positional(position, order, active, state)
        descend_positional(cost, position, order, active, slack)
        found = order_cost(cost, position, order)
        if found <= best_cost:
            best_cost = found
            best = order
    return best, bound
