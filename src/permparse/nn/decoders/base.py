"""What a sequence-to-sequence network is: a batch of sources in, and step by step the probability of the next token.

Whatever searches for outputs, or trains, sees this interface only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

from jaxtyping import Float, Int
from torch import Tensor, nn

from permparse.nn.batches import Movable, SentenceBatch


@dataclass(frozen=True)
class SourceBatch(Movable):
    """Sentences, and the output token that copying each position gives.

    ``copies`` holds its id, -1 where nothing can be copied. Tokens outside the output vocabulary have the ids behind
    it, numbered per sentence; ``extra`` says how many there are of them.
    """

    sentences: SentenceBatch
    copies: Int[Tensor, "B m"]
    extra: Int[Tensor, " B"]


class Rows:
    """Tensors whose first dimension is a row per sentence or hypothesis; parts of it may be Rows or tuples again."""

    def rows(self, index: Int[Tensor, " n"]) -> Self:
        """Some of the rows, in this order, possibly repeated."""
        return type(self)(**{f.name: _selected(getattr(self, f.name), index) for f in fields(self)})  # type: ignore[arg-type]


def _selected(value: Any, index: Tensor) -> Any:
    if isinstance(value, Tensor):
        return value[index]
    if isinstance(value, Rows):
        return value.rows(index)
    if isinstance(value, tuple):
        return tuple(_selected(part, index) for part in value)
    return value


class Seq2Seq(nn.Module, ABC):
    """P(next token | source, tokens so far)."""

    start_id: int
    """The token that stands before the first one."""
    end_id: int
    """The token that ends an output."""

    @abstractmethod
    def encode(self, source: SourceBatch) -> Rows:
        """All that the decoder has to know of the sources, a row each."""

    @abstractmethod
    def start(self, memory: Any) -> Rows:
        """The state before the first token, a row for each row of the memory."""

    @abstractmethod
    def advance(self, memory: Any, state: Any, previous: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], Any]:
        """log P of the token that follows ``previous``, and the state that has seen ``previous``."""

    @abstractmethod
    def log_probs(self, memory: Any, target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """log P of every token at every position, given the target tokens before it."""

    @property
    def device(self) -> Any:
        return next(self.parameters()).device
