"""Vectors of words beyond the vocabulary, looked up by the text of a word: what training lacks is still known."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from permparse.nn.batches import UNK, SentenceBatch


class WordTable(nn.Module):
    """Given vectors, never trained and no part of the weights: row i of ``matrix`` belongs to ``words[i]``.

    With ``lowercase``, words are looked up in lower case.
    """

    matrix: Tensor

    def __init__(self, words: Sequence[str], matrix: Float[Tensor, "n e"], lowercase: bool) -> None:
        super().__init__()
        self.words, self.lowercase = tuple(words), lowercase
        self._rows = {word: row for row, word in enumerate(self.words)}
        self.register_buffer("matrix", matrix, persistent=False)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and (word.lower() if self.lowercase else word) in self._rows

    def filled(self, embedded: Float[Tensor, "B m e"], sentences: SentenceBatch) -> Float[Tensor, "B m e"]:
        """The embeddings of some sentences with the vectors of the table in the place of unknown words.

        A word that dropout has made unknown has an id of its own in ``sentences`` and stays unknown.
        """
        cells: list[tuple[int, int, int]] = []
        for b, i in (sentences.ids == UNK).nonzero().tolist():
            word = sentences.words[b][i]
            found = self._rows.get(word.lower() if self.lowercase else word)
            if found is not None:
                cells.append((b, i, found))
        if not cells:
            return embedded
        example, position, row = torch.tensor(cells, device=embedded.device).unbind(1)
        return embedded.index_put((example, position), self.matrix[row].to(embedded))
