"""`decode`: the order with the best score for every example of a jump problem (section 3.4 of the paper
decodes U*).

Each method is a small file of its own; this one chooses, runs examples in parallel and packs the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from permparse.permutation.decoding.assignment import UNLIMITED, best_assignment
from permparse.permutation.decoding.cp_sat import prove_path
from permparse.permutation.decoding.held_karp import held_karp
from permparse.permutation.decoding.hungarian import round_permutation
from permparse.permutation.decoding.instance import Instance, Integers, checked_orders, instances
from permparse.permutation.decoding.path_search import search_path
from permparse.permutation.decoding.positional import search_positional
from permparse.permutation.decoding.result import Decoded
from permparse.permutation.decoding.tours import successor_cost
from permparse.permutation.problem import JumpProblem

Method = Literal["search", "hungarian", "exact", "prove"]

QUICK_SIZE = 12
"""Up to here, dynamic programming over subsets takes a few milliseconds."""
LARGEST_TABLE = 18
"""Up to here, its table fits into 60 MB."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def decode(
    problem: JumpProblem,
    method: Method = "search",
    *,
    log_u: Float[Tensor, "B N N"] | None = None,
    initial: Sequence[Sequence[int]] | None = None,
    nodes: int | None = None,
    kicks: int | None = None,
    steps: int = UNLIMITED,
    seconds: float = 10.0,
    seed: int = 0,
    threads: int | None = None,
) -> list[Decoded]:
    """Maximise ``start[o_1] + Σ jump[o_j, o_j+1] + end[o_n]`` (+ position scores) over the orders of each
    example.

    Methods:

    - ``search``: assignment bound, local search, branch and bound with few nodes, iterated local search,
      stopping as soon as the order is proven optimal: about a millisecond, and nearly always proven if the
      scores are not symmetric.
    - ``hungarian``: the paper's rounding of ``log_u``, nothing else.
    - ``exact``: as ``search`` with many nodes, and where they prove nothing, dynamic programming up to 18
      tokens. Beyond 18, ``proven_optimal`` tells whether the nodes sufficed; with position scores or
      ``allowed``, more tokens are refused.
    - ``prove``: as ``search``, and where that proves nothing, OR-Tools CP-SAT for up to ``seconds`` per
      example, to a precision of 1e-9 of the range of scores per token. Not with position scores or
      ``allowed``.

    ``log_u`` [B, N, N] (of a solution) and ``initial`` (one order per example) are further places for a
    search to start. ``nodes`` limits branch and bound (300 in ``search``, 100,000 in ``exact``), ``kicks``
    the rounds of iterated local search (300), and ``steps`` all elementary steps of a ``search`` (some hundred
    million per second), after which it gives the best order so far. The result is the same for any number of
    ``threads`` (torch's number by default).

    An example whose ``allowed`` excludes every order raises a ValueError that names it.
    """
    found = instances(problem)
    starts = _starts(problem, found, _checked(problem, method, log_u), initial)

    def solve(job: tuple[Instance, list[Integers]]) -> Decoded:
        instance, orders = job
        if instance.size == 0:
            return Decoded([], 0.0, 0.0, True)
        if method == "hungarian":
            return instance.decoded(orders[-1], relaxed_bound(instance))
        if method == "exact":
            return solve_exactly(instance, orders, 100_000 if nodes is None else nodes, kicks, seed)
        if method == "prove":
            return search_and_prove(instance, orders, 300 if nodes is None else nodes, kicks, seconds, seed)
        return search(instance, orders, 300 if nodes is None else nodes, kicks, seed, steps)

    return in_parallel(solve, list(zip(found, starts, strict=True)), threads)


def _checked(problem: JumpProblem, method: str, log_u: Tensor | None) -> Tensor | None:
    """``log_u``, if it goes with the method and the problem."""
    if method not in get_args(Method):
        raise ValueError(f"method: expected one of {', '.join(get_args(Method))}, got {method!r}")
    if method == "hungarian" and log_u is None:
        raise ValueError("log_u: method 'hungarian' rounds a solution; pass BregmanSolver().solve(problem).log_u")
    if log_u is not None and tuple(log_u.shape) != tuple(problem.jump.shape):
        raise ValueError(f"log_u: expected shape {list(problem.jump.shape)}, got {list(log_u.shape)}")
    return log_u


def _starts(
    problem: JumpProblem,
    found: Sequence[Instance],
    log_u: Tensor | None,
    initial: Sequence[Sequence[int]] | None,
) -> list[list[Integers]]:
    """For every example the orders to start from: the given one, then the rounded solution."""
    starts: list[list[Integers]] = [[] for _ in found]
    rounded = None if log_u is None else round_permutation(log_u, problem.lengths, problem.allowed)
    for name, orders in (("initial", initial), ("log_u", rounded)):
        if orders is not None:
            for place, order in zip(starts, checked_orders(orders, found, name), strict=True):
                place.append(order)
    return starts


def in_parallel(solve: Callable[[Item], Result], jobs: Sequence[Item], threads: int | None) -> list[Result]:
    """Solve the jobs, in a pool of threads if there is more than one; the kernels release the interpreter's
    lock.
    """
    workers = min(len(jobs), torch.get_num_threads() if threads is None else threads)
    if workers <= 1:
        return [solve(job) for job in jobs]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(solve, jobs))


def search(
    instance: Instance, starts: Sequence[Integers], nodes: int, kicks: int | None, seed: int, steps: int = UNLIMITED
) -> Decoded:
    """Local search and a bound for one example of at least one token."""
    rounds = 300 if kicks is None else kicks
    stacked = np.array(starts, dtype=np.int64).reshape(len(starts), instance.size)
    if instance.position is None:
        order, bound = search_path(instance.cost, stacked, nodes, rounds, seed, steps)
        return instance.decoded(order, bound)
    if instance.size <= QUICK_SIZE:
        return solve_small(instance)
    position = instance.position
    without, _ = search_path(instance.cost, stacked[:0], nodes, 0, seed, steps)
    stacked = np.concatenate([stacked, without[None]])
    order, bound = search_positional(instance.cost, position, stacked, rounds, seed, instance.slack)
    return instance.decoded(order, max(bound, relaxed_bound(instance)))


def solve_exactly(instance: Instance, starts: Sequence[Integers], nodes: int, kicks: int | None, seed: int) -> Decoded:
    """The best order of one example if the limits allow; its ``proven_optimal`` says so."""
    if instance.position is not None and instance.size > LARGEST_TABLE:
        raise ValueError(
            f"example {instance.index}: method 'exact' takes position scores and allowed up to "
            f"{LARGEST_TABLE} tokens, got {instance.size}; use 'search'"
        )
    result = search(instance, starts, nodes, kicks, seed)
    if result.proven_optimal or instance.size > LARGEST_TABLE:
        return result
    return solve_small(instance)


def solve_small(instance: Instance) -> Decoded:
    order = held_karp(instance.cost, instance.position_or_zero, 1)[0]
    result = instance.decoded(order, -np.inf)
    return Decoded(result.order, result.score, result.score, True)


def search_and_prove(
    instance: Instance, starts: Sequence[Integers], nodes: int, kicks: int | None, seconds: float, seed: int
) -> Decoded:
    """As `search`, and CP-SAT where that proves nothing."""
    if instance.position is not None:
        raise ValueError(
            f"example {instance.index}: method 'prove' takes neither position scores nor allowed, "
            "got one of them; use 'search' or 'exact'"
        )
    result = search(instance, starts, nodes, kicks, seed)
    return result if result.proven_optimal else prove(instance, result, seconds, seed)


def prove(instance: Instance, known: Decoded, seconds: float, seed: int) -> Decoded:
    """Improve a result, or its bound, by CP-SAT."""
    order, bound, precision = prove_path(instance.cost, np.array(known.order, dtype=np.int64), seconds, seed)
    best = known
    if order is not None:
        other = instance.decoded(order, -np.inf)
        best = other if other.score > known.score else known
    upper = float(max(min(-bound, known.bound), best.score))
    return Decoded(best.order, best.score, upper, bool(upper - best.score <= precision + instance.slack))


def relaxed_bound(instance: Instance) -> float:
    """A lower bound on the cost of every order: the best assignment of successors, plus the best one of
    places.
    """
    tables = [instance.cost] if instance.position is None else [instance.cost, instance.position]
    return sum(float(successor_cost(table, best_assignment(table))) for table in tables)
