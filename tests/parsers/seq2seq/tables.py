"""A tiny network for tests of search: random scores of the next token given the last two, without any weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import torch
from torch import Tensor, nn

from permparse.nn import Sentence, sentence_batch
from permparse.nn.decoders import Rows, Seq2Seq, SourceBatch

START, END = 0, 1


@dataclass(frozen=True)
class Which(Rows):
    """Which sentence a row belongs to, by number; as a state: the token before the last."""

    number: Tensor


class Table(Seq2Seq):
    """log P(y_t | sentence, y_t-2, y_t-1), drawn at random and fixed."""

    start_id, end_id = START, END

    def __init__(self, seed: int, sentences: int, tokens: int) -> None:
        super().__init__()
        chance = torch.Generator().manual_seed(seed)
        scores = torch.randn(sentences, tokens, tokens, tokens, dtype=torch.float64, generator=chance) * 2
        scores[..., START] = -torch.inf
        self.table = nn.Parameter(scores.log_softmax(-1), requires_grad=False)

    def encode(self, source: SourceBatch) -> Which:
        return Which(source.sentences.ids[:, 0])

    def start(self, memory: Which) -> Which:
        return Which(torch.zeros_like(memory.number))

    def advance(self, memory: Which, state: Which, previous: Tensor) -> tuple[Tensor, Which]:
        return self.table[memory.number, state.number, previous], Which(previous)

    def log_probs(self, memory: Which, target: Tensor) -> Tensor:
        raise NotImplementedError

    def score(self, sentence: int, ids: tuple[int, ...]) -> float:
        """log P of an output, by the table."""
        history = [START, START, *ids, END]
        return sum(
            float(self.table[sentence, a, b, c]) for a, b, c in zip(history, history[1:], history[2:], strict=False)
        )


def numbered(count: int) -> SourceBatch:
    """Sentences of one word each, which is their number."""
    sentences = sentence_batch([Sentence(("w",), np.array([b])) for b in range(count)])
    return SourceBatch(sentences, torch.full((count, 1), -1), torch.zeros(count, dtype=torch.int64))


def every_output(tokens: int, longest: int) -> list[tuple[int, ...]]:
    """All outputs of at most so many tokens."""
    return [ids for length in range(longest + 1) for ids in product(range(2, tokens), repeat=length)]


def every_permutation(ids: tuple[int, ...]) -> set[tuple[int, ...]]:
    """All different orders of some ids."""
    return set(permutations(ids))
