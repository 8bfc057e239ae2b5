"""The n most likely multisets under the independent counts of the tagger, exactly and best first.

The cells are independent, so the best alternatives differ from the most likely counts only in the few cells that are
cheapest to change. These are all that is kept of a sentence.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class CountLattice:
    """The most likely count of every cell of a sentence, its log probability, and the cells cheapest to change.

    *Shapes:* ``best`` [m, V]; ``cells`` [c] numbers them position by position, cheapest first; ``ranking`` [c, K+1]
    lists the counts of each by falling probability, ``losses`` [c, K+1] what each costs in log probability.
    """

    best: np.ndarray
    log_prob: float
    cells: np.ndarray
    ranking: np.ndarray
    losses: np.ndarray

    def n_best(self, n: int) -> Iterator[tuple[np.ndarray, float]]:
        """The n best assignments of counts [m, V], with their log probabilities, best first.

        Exact as long as n is at most the number the lattice was made for; fewer come if no more have a positive
        probability. O(n² log n) time.
        """
        yield self.best, self.log_prob
        if not len(self.cells) or n == 1:
            return
        losses = self.losses
        # A state is (loss, changes): changes pairs indices of cells, increasing, with ranks >= 1. Each state but the
        # best has one parent of no greater loss (lower the last rank; if it is 1, move it to the previous cell or,
        # where that is taken, drop it).
        heap: list[tuple[float, tuple[tuple[int, int], ...]]] = [(float(losses[0, 1]), ((0, 1),))]
        for _ in range(n - 1):
            loss, changes = heapq.heappop(heap) if heap else (np.inf, ())
            if not np.isfinite(loss):
                return
            counts = self.best.copy()
            for cell, rank in changes:
                counts.flat[self.cells[cell]] = self.ranking[cell, rank]
            yield counts, self.log_prob - loss
            last, rank = changes[-1]
            if rank + 1 < losses.shape[1]:
                rise = losses[last, rank + 1] - losses[last, rank]
                heapq.heappush(heap, (loss + rise, (*changes[:-1], (last, rank + 1))))
            if last + 1 < len(losses):
                step = losses[last + 1, 1]
                heapq.heappush(heap, (loss + step, (*changes, (last + 1, 1))))
                if rank == 1:
                    heapq.heappush(heap, (loss - losses[last, 1] + step, (*changes[:-1], (last + 1, 1))))


@torch.no_grad()
def count_lattices(logits: Float[Tensor, "B m K V"], mask: Bool[Tensor, "B m"], n: int) -> list[CountLattice]:
    """The lattice of every sentence of a batch, for its n best counts; the logit of count 0 is 0.

    O(m V (K + log n)) time for each sentence.
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1, got {n}")
    examples, size, _, symbols = logits.shape
    top, choice = logits.max(2)
    log_probs = (top.clamp(min=0) - log_normalisers(logits)).sum(-1) * mask
    best = torch.where(top > 0, choice + 1, 0) * mask[..., None]
    if n == 1:
        cells = best.new_zeros((examples, 0))
    else:
        runner_up = logits.scatter(2, choice[:, :, None], -torch.inf).amax(2).clamp(min=0)
        change = torch.where(top > 0, top - runner_up, -top).masked_fill(~mask[..., None], torch.inf)
        cells = change.flatten(1).topk(min(n, size * symbols), largest=False, sorted=True).indices
    position, symbol = cells // max(symbols, 1), cells % max(symbols, 1)
    choices = logits[torch.arange(examples, device=cells.device)[:, None], position, :, symbol]
    ranked, ranking = torch.nn.functional.pad(choices, (1, 0)).double().sort(dim=-1, descending=True, stable=True)
    losses = ranked[..., :1] - ranked
    inside = mask.gather(1, position) if size else mask.new_zeros(cells.shape)
    arrays = [tensor.cpu().numpy() for tensor in (best, log_probs.sum(-1), cells, ranking, losses)]
    lengths, used = mask.sum(1).tolist(), inside.sum(1).tolist()
    return [
        CountLattice(counts[:m], float(log_prob), cell[:c], ranks[:c], loss[:c])
        for counts, log_prob, cell, ranks, loss, m, c in zip(*arrays, lengths, used, strict=True)
    ]


def log_normalisers(logits: Float[Tensor, "B m K V"]) -> Float[Tensor, "B m V"]:
    """log(1 + Σ_k exp logits_k): the log normaliser of every cell."""
    return torch.cat([torch.zeros_like(logits[:, :, :1]), logits], 2).logsumexp(2)
