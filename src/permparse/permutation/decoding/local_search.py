"""Iterated local search on the true path score: segment exchanges, reversals, reversed insertions, random
kicks.

Every move is priced in O(1): prefix sums of forward and backward arc costs make reversals of asymmetric costs
cheap.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel

NEIGHBOURS = 10
"""Segment exchanges begin with an arc to one of the cheapest successors of a node."""
REVERSED_INSERTION = 4
"""Longest segment that is moved elsewhere in reverse."""
KICK_SEGMENT = 12
"""Longest of the three neighbouring segments that a kick puts in reverse order."""
MOVE_WORK = NEIGHBOURS + 2 * REVERSED_INSERTION
"""Steps that the moves around a node take at most, for each node of the tour."""


@kernel
def next_random(state, below):
    """A pseudo-random integer from 0 to below - 1 (xorshift; the state is one 64-bit word, not 0)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(33)) % np.uint64(below))


@kernel
def random_state(seed: int) -> np.ndarray:
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
    if state[0] == np.uint64(0):
        state[0] = np.uint64(1)
    return state


@kernel
def cheapest_successors(cost: np.ndarray) -> np.ndarray:
    """*Shape:* [m, min(NEIGHBOURS, m - 1)], nearest first."""
    m = cost.shape[0]
    width = min(NEIGHBOURS, m - 1)
    near = np.empty((m, width), np.int64)
    for i in range(m):
        count = 0
        for j in range(m):
            if j == i or (count == width and not cost[i, j] < cost[i, near[i, width - 1]]):
                continue
            at = min(count, width - 1)
            while at > 0 and cost[i, j] < cost[i, near[i, at - 1]]:
                near[i, at] = near[i, at - 1]
                at -= 1
            near[i, at] = j
            count = min(count + 1, width)
    return near


@kernel
def refresh(cost, tour, place, following, forward, backward):
    """Recompute every node's place in the tour and its successor, and the prefix sums of arc costs, both
    ways.
    """
    m = tour.shape[0]
    forward[0] = 0.0
    backward[0] = 0.0
    place[tour[0]] = 0
    following[tour[m - 1]] = tour[0]
    for p in range(1, m):
        place[tour[p]] = p
        following[tour[p - 1]] = tour[p]
        forward[p] = forward[p - 1] + cost[tour[p - 1], tour[p]]
        backward[p] = backward[p - 1] + cost[tour[p], tour[p - 1]]


@kernel
def reverse(tour: np.ndarray, p: int, q: int) -> None:
    """Reverse the segment p..q."""
    while p < q:
        tour[p], tour[q] = tour[q], tour[p]
        p += 1
        q -= 1


@kernel
def exchange_segments(tour: np.ndarray, p: int, q: int, r: int) -> None:
    """Swap the neighbouring segments p+1..q and q+1..r."""
    reverse(tour, p + 1, q)
    reverse(tour, q + 1, r)
    reverse(tour, p + 1, r)


@kernel
def try_exchange(cost, near, tour, place, a, slack):
    """Swap two neighbouring segments so that node ``a`` gets a cheaper successor, by the best such move."""
    m = tour.shape[0]
    after_a = tour[(place[a] + 1) % m]
    best = -slack
    best_b = -1
    best_e = -1
    for b in near[a]:
        gain = cost[a, b] - cost[a, after_a]
        if gain >= 0.0:
            break
        before_b = tour[place[b] - 1]
        partial = gain - cost[before_b, b]
        p = place[b]
        while tour[p] != a:
            e = tour[p]
            p = p + 1 if p + 1 < m else 0
            after_e = tour[p]
            change = partial + cost[e, after_a] + cost[before_b, after_e] - cost[e, after_e]
            if change < best:
                best = change
                best_b = before_b
                best_e = e
    if best_b < 0:
        return False
    p, q, r = place[a], place[best_b], place[best_e]
    # The three cuts follow each other in this order around the tour; begin with the one nearest the depot.
    if q < p and q < r:
        p, q, r = q, r, p
    elif r < p:
        p, q, r = r, p, q
    exchange_segments(tour, p, q, r)
    return True


@kernel
def try_reversal(cost, tour, place, forward, backward, a, slack):
    """Reverse a segment that begins after ``a`` or ends at ``a``; apply the best such move."""
    m = tour.shape[0]
    at = place[a]
    best = -slack
    best_p = -1
    best_q = -1
    for other in range(m):
        p = min(at, other)
        q = max(at, other)
        if q - p < 2:
            continue
        first = tour[p + 1]
        last = tour[q]
        beyond = tour[q + 1] if q + 1 < m else tour[0]
        change = (cost[tour[p], last] - cost[tour[p], first]) + (cost[first, beyond] - cost[last, beyond])
        change += (backward[q] - backward[p + 1]) - (forward[q] - forward[p + 1])
        if change < best:
            best = change
            best_p = p
            best_q = q
    if best_p < 0:
        return False
    reverse(tour, best_p + 1, best_q)
    return True


@kernel
def try_reversed_insertion(cost, tour, place, forward, backward, a, slack):
    """Move a short segment that begins at ``a`` elsewhere, reversed; apply the best such move."""
    m = tour.shape[0]
    i = place[a]
    if i == 0:
        return False
    best = -slack
    best_j = -1
    best_x = -1
    for j in range(i + 1, min(i + REVERSED_INSERTION, m)):
        last = tour[j]
        before = tour[i - 1]
        beyond = tour[j + 1] if j + 1 < m else tour[0]
        freed = cost[before, beyond] - cost[before, a] - cost[last, beyond]
        freed += (backward[j] - backward[i]) - (forward[j] - forward[i])
        for x in range(m):
            if i - 1 <= x <= j:
                continue
            left = tour[x]
            right = tour[x + 1] if x + 1 < m else tour[0]
            change = freed + cost[left, last] + cost[a, right] - cost[left, right]
            if change < best:
                best = change
                best_j = j
                best_x = x
    if best_j < 0:
        return False
    j = best_j
    reverse(tour, i, j)
    if best_x > j:
        exchange_segments(tour, i - 1, j, best_x)
    else:
        exchange_segments(tour, best_x, i - 1, j)
    return True


@kernel
def descend(cost, near, tour, active, slack, work):
    """Apply improving moves around the ``active`` nodes until there is none or ``work`` [1] is used up; ``tour[0]``,
    the depot, stays in front.
    """
    m = tour.shape[0]
    place = np.empty(m, np.int64)
    forward = np.empty(m)
    backward = np.empty(m)
    following = np.empty(m, np.int64)
    refresh(cost, tour, place, following, forward, backward)
    queue = np.empty(m, np.int64)
    head = 0
    waiting = 0
    for i in range(m):
        if active[i]:
            queue[waiting] = i
            waiting += 1
    moves = 0
    # Every move gains more than rounding can fake; the cap only makes that a certainty.
    while waiting > 0 and moves < 1000 * m and work[0] > 0:
        work[0] -= MOVE_WORK * m
        a = queue[head]
        head = (head + 1) % m
        waiting -= 1
        active[a] = False
        moved = (
            try_exchange(cost, near, tour, place, a, slack)
            or try_reversal(cost, tour, place, forward, backward, a, slack)
            or try_reversed_insertion(cost, tour, place, forward, backward, a, slack)
        )
        if moved:
            moves += 1
            for p in range(m):
                left = tour[p]
                right = tour[p + 1] if p + 1 < m else tour[0]
                if following[left] != right:
                    for node in (left, right):
                        if not active[node]:
                            active[node] = True
                            queue[(head + waiting) % m] = node
                            waiting += 1
            refresh(cost, tour, place, following, forward, backward)


@kernel
def tour_cost(cost: np.ndarray, tour: np.ndarray) -> float:
    total = cost[tour[-1], tour[0]]
    for p in range(tour.shape[0] - 1):
        total += cost[tour[p], tour[p + 1]]
    return total


@kernel
def kick(tour: np.ndarray, active: np.ndarray, state: np.ndarray) -> None:
    """Put three neighbouring segments in reverse order: changes four arcs, which no move above undoes at
    once.
    """
    m = tour.shape[0]
    longest = min(KICK_SEGMENT, (m - 1) // 3)
    x = 1 + next_random(state, longest)
    y = 1 + next_random(state, longest)
    z = 1 + next_random(state, longest)
    p = next_random(state, m - x - y - z)
    for at in (p, p + x, p + x + y, p + x + y + z):
        active[tour[at]] = True
        active[tour[(at + 1) % m]] = True
    exchange_segments(tour, p, p + x, p + x + y)
    exchange_segments(tour, p, p + x + y, p + x + y + z)


@kernel
def descend_order(cost, order, slack, work):
    """The local optimum reached from ``order``."""
    m = cost.shape[0]
    tour = _as_tour(order)
    descend(cost, cheapest_successors(cost), tour, np.ones(m, np.bool_), slack, work)
    return tour[1:].copy()


@kernel
def _as_tour(order):
    m = order.shape[0] + 1
    tour = np.empty(m, np.int64)
    tour[0] = m - 1
    for p in range(1, m):
        tour[p] = order[p - 1]
    return tour


@kernel
def iterate(cost, order, kicks, target, seed, slack, work):
    """Kick the order and descend again, ``kicks`` times, keeping what is no worse; stop when cost ``target`` is met or
    ``work`` [1] used up."""
    m = cost.shape[0]
    best = _as_tour(order)
    best_cost = tour_cost(cost, best)
    if m < 4:
        return best[1:].copy()
    near = cheapest_successors(cost)
    state = random_state(seed)
    active = np.zeros(m, np.bool_)
    for _ in range(kicks):
        if best_cost <= target + slack or work[0] <= 0:
            break
        tour = best.copy()
        kick(tour, active, state)
        descend(cost, near, tour, active, slack, work)
        found = tour_cost(cost, tour)
        if found <= best_cost:
            best_cost = found
            best = tour
    return best[1:].copy()
