"""One example of a jump problem as arrays of costs, the form in which the decoders see it.

Costs are negated scores in float64, whatever the dtype and device of the problem; padding is cut off, not
masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from permparse.permutation.decoding.assignment import best_assignment
from permparse.permutation.decoding.result import Decoded
from permparse.permutation.decoding.tours import rounding_slack, tour_costs
from permparse.permutation.problem import JumpProblem

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    """The costs of one example with n tokens."""

    index: int
    """Which example of the batch it is; error messages name it."""
    cost: Floats
    """*Shape:* [n + 1, n + 1]. Arcs of the tour through the depot, node n; infinite on the diagonal."""
    position: Floats | None
    """*Shape:* [n, n]. Cost of token i at position j, infinite where it is not allowed; None if all are
    zero.
    """

    @property
    def size(self) -> int:
        return self.cost.shape[0] - 1

    @property
    def position_or_zero(self) -> Floats:
        return np.zeros((self.size, self.size)) if self.position is None else self.position

    @property
    def slack(self) -> float:
        """Differences of scores below this are rounding errors."""
        position = 0.0 if self.position is None else float(rounding_slack(self.position))
        return float(rounding_slack(self.cost)) + position

    def cost_of(self, order: Integers) -> float:
        """The cost of an order: arcs of the tour through the depot, and places; added one by one as the kernels do."""
        n = self.size
        steps = np.concatenate([[self.cost[n, order[0]] + self.cost[order[-1], n]], self.cost[order[:-1], order[1:]]])
        if self.position is not None:
            steps += self.position[order, np.arange(n)]
        return float(np.cumsum(steps)[-1])

    def decoded(self, order: Integers, bound: float) -> Decoded:
        """The result for an order, given a lower bound on the cost of every order."""
        score = -self.cost_of(order)
        proven = bool(-bound <= score + self.slack)
        return Decoded(order.tolist(), score, score if proven else -float(bound), proven)


def instances(problem: JumpProblem) -> list[Instance]:
    """The examples of a batch. Raises a ValueError that names the first example whose ``allowed`` excludes
    every order.
    """

    def numbers(tensor: torch.Tensor) -> Floats:
        return tensor.detach().to(device="cpu", dtype=torch.float64).numpy()

    start, jump, end = numbers(problem.start), numbers(problem.jump), numbers(problem.end)
    position = None if problem.position is None else numbers(problem.position)
    allowed = None if problem.allowed is None else problem.allowed.cpu().numpy()
    found = []
    for b, n in enumerate(problem.sizes()):
        place = None
        if position is not None:
            place = -position[b, :n, :n]
        if allowed is not None and not allowed[b, :n, :n].all():
            place = np.where(allowed[b, :n, :n], 0.0 if place is None else place, np.inf)
            if len(best_assignment(place)) < n:
                raise ValueError(f"allowed[{b}]: expected at least one possible order of the {n} tokens, got none")
        found.append(Instance(b, tour_costs(start[b, :n], np.ascontiguousarray(jump[b, :n, :n]), end[b, :n]), place))
    return found


def checked_orders(orders: Sequence[Sequence[int]], found: Sequence[Instance], name: str) -> list[Integers]:
    """One order per example as arrays; anything but permutations of the tokens is an error."""
    if len(orders) != len(found):
        raise ValueError(f"{name}: expected {len(found)} orders, one per example, got {len(orders)}")
    arrays = []
    for order, instance in zip(orders, found, strict=True):
        array = np.asarray(order, dtype=np.int64).reshape(-1)
        if not np.array_equal(np.sort(array), np.arange(instance.size)):
            raise ValueError(
                f"{name}[{instance.index}]: expected a permutation of 0..{instance.size - 1}, got {list(order)}"
            )
        arrays.append(array)
    return arrays
