"""The pieces that a tokenizer cuts words into, and states of pieces pooled to states of words.

A sentence longer than the encoder can read is cut into several windows, each read by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from permparse.nn.batches import SentenceBatch


@dataclass(frozen=True)
class Pieces:
    """Windows of pieces, and which word each belongs to.

    ``links`` [L, 4]: window, position in it, sentence, word. The last piece of a sentence, a mark of its end in most
    tokenizers, belongs to the positions behind the last word.
    """

    ids: Int[Tensor, "R p"]
    mask: Bool[Tensor, "R p"]
    links: Int[Tensor, "L 4"]
    sentences: int
    words: int

    def to(self, device: torch.device) -> Pieces:
        """The same on another device."""
        return replace(self, ids=self.ids.to(device), mask=self.mask.to(device), links=self.links.to(device))


def cut(tokenizer: Any, sentences: SentenceBatch, longest: int) -> Pieces:
    """Cut the words of sentences into pieces, at most ``longest`` in a window."""
    # Tokenizers know no empty sentence: it has an empty word, whose pieces belong to nothing.
    texts = [list(words) or [""] for words in sentences.words]
    found = tokenizer(
        texts,
        is_split_into_words=True,
        truncation=True,
        max_length=longest,
        return_overflowing_tokens=True,
        padding=True,
        return_tensors="pt",
    )
    of_window = found["overflow_to_sample_mapping"].tolist()
    links: list[tuple[int, int, int, int]] = []
    last: dict[int, tuple[int, int]] = {}
    for window, sentence in enumerate(of_window):
        words = sentences.words[sentence]
        for position, word in enumerate(found.word_ids(window)):
            if found["attention_mask"][window, position]:
                last[sentence] = window, position
                if word is not None and word < len(words):
                    links.append((window, position, sentence, word))
    for sentence, (window, position) in last.items():
        behind = range(len(sentences.words[sentence]), int(sentences.lengths[sentence]))
        links += [(window, position, sentence, i) for i in behind]
    table = torch.tensor(links, dtype=torch.int64).reshape(-1, 4)
    return Pieces(found["input_ids"], found["attention_mask"].bool(), table, len(texts), sentences.ids.shape[1])


def pooled(states: Float[Tensor, "R p d"], pieces: Pieces) -> Float[Tensor, "B m d"]:
    """The mean of the states of every word's pieces; zero for a word that has none."""
    window, position, sentence, word = pieces.links.unbind(1)
    at = sentence * pieces.words + word
    flat = states.new_zeros((pieces.sentences * pieces.words, states.shape[-1]))
    sums = flat.index_add(0, at, states[window, position])
    count = torch.bincount(at, minlength=len(flat)).clamp(min=1).to(states)
    return (sums / count[:, None]).view(pieces.sentences, pieces.words, -1)
