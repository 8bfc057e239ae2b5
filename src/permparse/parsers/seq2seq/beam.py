"""Beam search, batched over sentences and hypotheses: free, or constrained to the permutations of a multiset.

Hypotheses are ranked by log P alone. A sentence is done when no unfinished hypothesis can beat its n best finished
ones, so with a beam wide enough the result is the n most likely outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from permparse.nn.decoders import Rows, Seq2Seq, SourceBatch


@dataclass(frozen=True)
class Hypothesis:
    """An output as ids, without the end token, and log P of it, with the end token."""

    ids: tuple[int, ...]
    log_prob: float


@dataclass(frozen=True)
class _Beam(Rows):
    """The search of some sentences, a row each: ``k`` unfinished and ``n`` finished hypotheses, -inf where there is
    none. ``left``: how many of each token every hypothesis still has to use, if it has to."""

    number: Int[Tensor, " A"]
    limit: Int[Tensor, " A"]
    scores: Float[Tensor, "A k"]
    tokens: Int[Tensor, "A k t"]
    done_scores: Float[Tensor, "A n"]
    done_tokens: Int[Tensor, "A n t"]
    left: Int[Tensor, "A k W"] | None

    @property
    def finished(self) -> Tensor:
        """The sentences whose n best outputs cannot change any more."""
        return self.scores[:, 0] <= self.done_scores[:, -1]


@torch.no_grad()
def beam_search(
    network: Seq2Seq,
    source: SourceBatch,
    limits: Int[Tensor, " B"],
    beam: int = 5,
    n_best: int = 1,
    multisets: Int[Tensor, "B W"] | None = None,
) -> list[list[Hypothesis]]:
    """The likeliest outputs of every source, best first: at most ``n_best`` of at most ``limits`` tokens.

    ``multisets`` says how often an output has to use each token (those behind its last column not at all): every output
    is then a permutation of it, and limits do not count. One step of the network per output token, for all hypotheses
    at once.
    """
    network.eval()
    beam = max(beam, n_best)
    memory = network.encode(source)
    state = network.start(memory)
    search = _first(limits, beam, n_best, multisets)
    every = torch.arange(len(limits), device=limits.device).repeat_interleave(beam)
    memory, state = memory.rows(every), state.rows(every)
    previous = torch.full_like(every, network.start_id)
    results: dict[int, list[Hypothesis]] = {}
    while len(search.number):
        log_probs, state = network.advance(memory, state, previous)
        search, parents = _extended(search, log_probs.double().unflatten(0, (-1, beam)), network.end_id)
        for row in search.finished.nonzero()[:, 0].tolist():
            results[int(search.number[row])] = _hypotheses(search, row, network.end_id)
        going = (~search.finished).nonzero()[:, 0]
        rows = going[:, None] * beam + parents[going]
        if len(going) < len(search.number):
            search = search.rows(going)
            memory = memory.rows((going[:, None] * beam + torch.arange(beam, device=going.device)).flatten())
        state, previous = state.rows(rows.flatten()), search.tokens[:, :, -1].flatten()
    return [results[b] for b in range(len(limits))]


def _first(limits: Tensor, beam: int, n_best: int, multisets: Tensor | None) -> _Beam:
    """One empty hypothesis for each sentence."""
    count, device = len(limits), limits.device
    scores = torch.full((count, beam), -torch.inf, dtype=torch.float64, device=device)
    scores[:, 0] = 0.0
    return _Beam(
        number=torch.arange(count, device=device),
        limit=limits if multisets is None else multisets.sum(1),
        scores=scores,
        tokens=limits.new_zeros(count, beam, 0),
        done_scores=scores.new_full((count, n_best), -torch.inf),
        done_tokens=limits.new_zeros(count, n_best, 0),
        left=None if multisets is None else multisets[:, None].repeat(1, beam, 1),
    )


def _extended(search: _Beam, log_probs: Float[Tensor, "A k V"], end: int) -> tuple[_Beam, Int[Tensor, "A k"]]:
    """The search one token further, and the hypothesis that each unfinished one continues."""
    ended = search.scores + log_probs[:, :, end]
    if search.left is not None:
        ended = ended.masked_fill(search.left.sum(2) > 0, -torch.inf)
        # What stands behind the last column is in no multiset.
        log_probs = log_probs[:, :, : search.left.shape[2]].masked_fill(search.left == 0, -torch.inf)
    beam, size, length = search.scores.shape[1], log_probs.shape[2], search.tokens.shape[2]
    is_end = torch.arange(size, device=log_probs.device) == end
    done_scores, done_tokens = _best_finished(search, ended, end)
    excluded = is_end | (search.limit <= length)[:, None, None]
    following = (search.scores[:, :, None] + log_probs).masked_fill(excluded, -torch.inf)
    scores, chosen = following.flatten(1).topk(beam)
    parents, tokens = chosen // size, chosen % size
    left = search.left
    if left is not None:
        left = left.gather(1, parents[..., None].expand(-1, -1, size))
        left = left.scatter_add(2, tokens[..., None], left.new_full((*tokens.shape, 1), -1))
    prefixes = search.tokens.gather(1, parents[..., None].expand(-1, -1, length))
    longer = torch.cat([prefixes, tokens[..., None]], 2)
    return _Beam(search.number, search.limit, scores, longer, done_scores, done_tokens, left), parents


def _best_finished(search: _Beam, ended: Float[Tensor, "A k"], end: int) -> tuple[Tensor, Tensor]:
    """The n best finished hypotheses, after those that end now have joined them; shorter ones are filled up by ends."""
    pool = torch.cat([search.done_tokens, search.tokens], 1)
    scores, chosen = torch.cat([search.done_scores, ended], 1).topk(search.done_scores.shape[1])
    tokens = pool.gather(1, chosen[..., None].expand(-1, -1, pool.shape[2]))
    return scores, torch.nn.functional.pad(tokens, (0, 1), value=end)


def _hypotheses(search: _Beam, row: int, end: int) -> list[Hypothesis]:
    found = []
    scores, outputs = search.done_scores[row].tolist(), search.done_tokens[row].tolist()
    for score, ids in zip(scores, outputs, strict=True):
        if score > -torch.inf:
            found.append(Hypothesis(tuple(ids[: ids.index(end)] if end in ids else ids), score))
    return found
