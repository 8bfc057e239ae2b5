"""From the state of a decoder to the probability of the next token: generated, or copied from the source.

P(y) = g · softmax(W r)_y + (1 - g) · Σ_{i: copy of i is y} a_i, exactly (See et al. 2017), over the vocabulary and the
tokens that only this source offers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from permparse.nn.decoders.base import Rows, SourceBatch


@dataclass(frozen=True)
class Offered(Rows):
    """What sources offer for copying: keys of their words, the output id of each (-1: none), and how many output ids
    each source knows."""

    keys: Float[Tensor, "B m d"] | None
    copies: Int[Tensor, "B m"]
    known: Int[Tensor, " B"]
    width: int


class Readout(nn.Module):
    """Tokens by their vectors and, where copying is on, by attention to the source. ``unspeakable`` ids are never
    produced."""

    excluded: Tensor

    def __init__(self, size: int, source_size: int, tokens: int, copying: bool, unspeakable: tuple[int, ...]) -> None:
        super().__init__()
        self.tokens = tokens
        self.vocabulary = nn.Linear(size, tokens)
        self.key = nn.Linear(source_size, size, bias=False) if copying else None
        self.gate = nn.Linear(size, 1) if copying else None
        excluded = torch.zeros(tokens, dtype=torch.bool)
        excluded[list(unspeakable)] = True
        self.register_buffer("excluded", excluded, persistent=False)

    def offer(self, source: SourceBatch, states: Float[Tensor, "B m d"]) -> Offered:
        """What there is to copy."""
        if self.key is None:
            known = torch.full_like(source.extra, self.tokens)
            return Offered(None, source.copies, known, self.tokens)
        known = source.extra + self.tokens
        width = self.tokens + (int(source.extra.max()) if len(source.extra) else 0)
        return Offered(self.key(states), source.copies, known, width)

    def forward(self, features: Float[Tensor, "N T e"], offered: Offered) -> Float[Tensor, "N T V"]:
        """log P of every token; -inf for those that are never produced or that the source does not offer."""
        logits = self.vocabulary(features).masked_fill(self.excluded, -torch.inf)
        if offered.keys is None or self.gate is None:
            return logits.log_softmax(-1)
        copyable = (offered.copies >= 0)[:, None]  # [N, 1, m]
        scores = features @ offered.keys.transpose(1, 2) * features.shape[-1] ** -0.5
        any_copyable = copyable.any(-1, keepdim=True)
        weights = scores.masked_fill(~copyable & any_copyable, -torch.inf).softmax(-1)
        generate = torch.where(any_copyable, self.gate(features).sigmoid(), 1.0)
        mixed = features.new_zeros(*features.shape[:2], offered.width)
        mixed[..., : self.tokens] = generate * logits.softmax(-1)
        index = offered.copies.clamp(min=0)[:, None].expand_as(weights)
        mixed = mixed.scatter_add(2, index, torch.where(copyable, (1 - generate) * weights, 0.0))
        return self._log(mixed, offered)

    def _log(self, mixed: Float[Tensor, "N T V"], offered: Offered) -> Float[Tensor, "N T V"]:
        """Logs, finite for all that can be produced even where a probability underflows."""
        ids = torch.arange(offered.width, device=mixed.device)
        excluded = nn.functional.pad(self.excluded, (0, offered.width - self.tokens)) | (ids >= offered.known[:, None])
        return mixed.clamp_min(torch.finfo(mixed.dtype).tiny).log().masked_fill(excluded[:, None], -torch.inf)
