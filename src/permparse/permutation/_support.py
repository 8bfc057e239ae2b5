"""Which cells of U can be non-zero: those that lie on some permutation inside the `allowed` mask.

A cell outside every such permutation is zero in each feasible U; leaving it in would make the sweeps converge only
sublinearly. A perfect matching tells whether there is a permutation at all; the other cells on permutations are then
the edges inside the strongly connected components of its alternating graph (Dulmage and Mendelsohn). Time: O(n³) at
worst."""

from __future__ import annotations

import numpy as np

from permparse.permutation._kernels import kernel


@kernel
def _augment(allowed, root, seen, position_of, token_at):
    """Look for an augmenting path from token ``root``, without recursion; True if one was found and applied."""
    n = allowed.shape[0]
    stack, cursor = np.empty(n, np.int64), np.zeros(n, np.int64)
    depth = 0
    stack[0] = root
    cursor[0] = 0
    while depth >= 0:
        token = stack[depth]
        j = cursor[depth]
        while j < n and (seen[j] or not allowed[token, j]):
            j += 1
        if j == n:
            depth -= 1
            continue
        seen[j] = True
        cursor[depth] = j
        if token_at[j] < 0:
            for d in range(depth, -1, -1):
                position = cursor[d]
                token_at[position] = stack[d]
                position_of[stack[d]] = position
            return True
        depth += 1
        stack[depth] = token_at[j]
        cursor[depth] = 0
    return False


@kernel
def perfect_matching(allowed, position_of):
    """Fill ``position_of`` with a permutation inside ``allowed``; False if there is none."""
    n = allowed.shape[0]
    for token in range(n):
        position_of[token] = -1
    token_at = np.full(n, -1, np.int64)
    for token in range(n):
        for j in range(n):  # most tokens find a free position at once
            if allowed[token, j] and token_at[j] < 0:
                token_at[j] = token
                position_of[token] = j
                break
    seen = np.zeros(n, np.bool_)
    for token in range(n):
        if position_of[token] < 0:
            for j in range(n):
                seen[j] = False
            if not _augment(allowed, token, seen, position_of, token_at):
                return False
    return True


@kernel
def _components(allowed, position_of, component):
    """Strongly connected components of the graph token → token' whose matched position token may take (Tarjan)."""
    n = allowed.shape[0]
    token_at = np.empty(n, np.int64)
    for token in range(n):
        token_at[position_of[token]] = token
    index, low = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    on_stack = np.zeros(n, np.bool_)
    stack, calls, cursor = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.int64)
    height, counter, found = 0, 0, 0
    for root in range(n):
        if index[root] >= 0:
            continue
        depth = 0
        calls[0] = root
        while depth >= 0:
            token = calls[depth]
            if index[token] < 0:
                index[token] = low[token] = counter
                counter += 1
                stack[height] = token
                height += 1
                on_stack[token] = True
                cursor[token] = 0
            descended = False
            while cursor[token] < n:
                j = cursor[token]
                cursor[token] += 1
                if not allowed[token, j]:
                    continue
                other = token_at[j]
                if index[other] < 0:
                    depth += 1
                    calls[depth] = other
                    descended = True
                    break
                if on_stack[other]:
                    low[token] = min(low[token], index[other])
            if descended:
                continue
            if low[token] == index[token]:
                while True:
                    height -= 1
                    member = stack[height]
                    on_stack[member] = False
                    component[member] = found
                    if member == token:
                        break
                found += 1
            depth -= 1
            if depth >= 0:
                low[calls[depth]] = min(low[calls[depth]], low[token])


@kernel
def total_support(allowed, support):
    """Fill ``support[i, j]`` with the cells that lie on a permutation inside ``allowed``; False if there is none."""
    n = allowed.shape[0]
    position_of = np.empty(n, np.int64)
    for token in range(n):
        for j in range(n):
            support[token, j] = False
    if not perfect_matching(allowed, position_of):
        return False
    component = np.empty(n, np.int64)
    _components(allowed, position_of, component)
    owner = np.empty(n, np.int64)
    for token in range(n):
        owner[position_of[token]] = component[token]
    for token in range(n):
        for j in range(n):
            support[token, j] = allowed[token, j] and component[token] == owner[j]
    return True
