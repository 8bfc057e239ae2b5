"""The paper's decoder: round U* to the permutation of the largest total log-probability (Hungarian
algorithm).

It looks at single cells of U*, not at the jumps, so its order need not have the best score; `decode` can
improve it.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from permparse.permutation.decoding.assignment import best_assignment


def round_permutation(
    log_u: Float[Tensor, "B N N"],
    lengths: Int[Tensor, " B"] | None = None,
    allowed: Bool[Tensor, "B N N"] | None = None,
) -> list[list[int]]:
    """For every example, the order that maximises ``Σ_j log_u[order[j], j]``.

    Cells of -inf are used only if there is no other way, cells that are not ``allowed`` never. O(n³).

    Shapes: ``log_u`` [B, N, N], token i at position j; ``lengths`` [B], all N if omitted; ``allowed`` [B, N,
    N] boolean.
    """
    if log_u.dim() != 3 or log_u.shape[1] != log_u.shape[2]:
        raise ValueError(f"log_u: expected shape [B, N, N], got {list(log_u.shape)}")
    values = log_u.detach().to(device="cpu", dtype=torch.float64).numpy()
    sizes = [values.shape[2]] * values.shape[0] if lengths is None else [int(n) for n in lengths.tolist()]
    if len(sizes) != values.shape[0]:
        raise ValueError(f"lengths: expected {values.shape[0]} values, got {len(sizes)}")
    orders = []
    for b, n in enumerate(sizes):
        cost = -values[b, :n, :n]
        if np.isnan(cost).any() or (cost == -np.inf).any():
            raise ValueError(f"log_u[{b}]: expected log-probabilities, got NaN or +inf")
        excluded = np.zeros((n, n), bool) if allowed is None else ~allowed[b, :n, :n].cpu().numpy()
        cost = np.where(excluded, np.inf, cost)
        place_of = best_assignment(cost)
        if len(place_of) < n:
            place_of = best_assignment(_with_impossible_cells_last(cost, excluded))
        if len(place_of) < n:
            raise ValueError(f"allowed[{b}]: expected at least one possible order of the {n} tokens, got none")
        orders.append(np.argsort(place_of).tolist())
    return orders


def _with_impossible_cells_last(cost: np.ndarray, excluded: np.ndarray) -> np.ndarray:
    """Make infinite cells that are not excluded finite, but so dear that one fewer of them outweighs all
    else.
    """
    finite = cost[np.isfinite(cost)]
    dear = 1.0 if len(finite) == 0 else finite.max() + (finite.max() - finite.min() + 1.0) * len(cost)
    return np.where(np.isinf(cost) & ~excluded, dear, cost)
