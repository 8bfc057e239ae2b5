"""IBM Model 1: which input word is most likely to have produced which output token.

Its links initialise the multiset tagger (the paper's section on alignment initialisation, DESIGN λ, χ, g).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from permparse.text.producers import Copies

NULL = ""
"""The word that produces what no word of the sentence does; no real word is empty."""


class _Cells(NamedTuple):
    """Every (distinct word, distinct token) of every example, flat. *Shape:* [C] unless noted."""

    word: NDArray[np.int64]
    token: NDArray[np.int64]
    repeats: NDArray[np.float64]  # how often the word stands in the sentence
    group: NDArray[np.int64]  # number of the (example, token) the cell belongs to
    copies: NDArray[np.float64]  # [G] how often the token stands in the output
    example: NDArray[np.int64]  # [G]


def align(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    *,
    threshold: float,
    iterations: int = 150,
    null_links: bool = False,
) -> list[list[Copies]]:
    """Links with posterior ≥ `threshold` (χ), one list per example, sorted by position and token: l copies of a
    token at one position.

    Maximises Π_j Σ_i t(y_j | x_i) over the translation table t by EM, i ranging over the words and NULL,
    from a uniform start. Give it all tokens, also those that need no link: they keep
    their words from claiming others. A word that stands twice in a sentence shares its posterior.
    With `null_links`, what NULL produces is linked too, to the position behind the last word: that of an end token.
    Cost: O(Σ m·n) per iteration, all in vector operations.
    """
    if len(sources) != len(targets):
        raise ValueError(f"expected as many targets as sources, got {len(targets)} and {len(sources)}")
    words, tokens = _numbering(sources, first=NULL), _numbering(targets)
    cells = _cells(sources, targets, words, tokens)
    table = _expectation_maximisation(cells, len(tokens), iterations)
    posterior = table / np.bincount(cells.group, cells.repeats * table, len(cells.copies))[cells.group]
    chosen = posterior >= threshold
    if not null_links:
        chosen &= cells.word != 0
    return _links(cells, chosen, sources, list(words), list(tokens))


def _numbering(sequences: Sequence[Sequence[str]], first: str | None = None) -> dict[str, int]:
    numbers: dict[str, int] = {} if first is None else {first: 0}
    for sequence in sequences:
        for token in sequence:
            numbers.setdefault(token, len(numbers))
    return numbers


def _cells(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    words: dict[str, int],
    tokens: dict[str, int],
) -> _Cells:
    with_null = [[NULL, *source] for source in sources]
    at_word, word, repeats = _distinct(with_null, words)
    at_token, token, copies = _distinct(targets, tokens)
    # Sorted by example: its words are a block, and each of its tokens is paired with the whole block.
    block = np.bincount(at_word, minlength=len(sources))
    first = np.cumsum(block) - block
    size = block[at_token]
    group = np.repeat(np.arange(len(token)), size)
    within = np.arange(len(group)) - np.repeat(np.cumsum(size) - size, size)
    cell = first[at_token][group] + within
    return _Cells(word[cell], token[group], repeats[cell].astype(float), group, copies.astype(float), at_token)


def _distinct(
    sequences: Sequence[Sequence[str]], numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Example, token and number of occurrences of each distinct token of each example, sorted by example."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    flat = np.fromiter((numbers[token] for sequence in sequences for token in sequence), np.int64, lengths.sum())
    size = max(len(numbers), 1)
    key, count = np.unique(np.repeat(np.arange(len(sequences)), lengths) * size + flat, return_counts=True)
    return key // size, key % size, count


def _expectation_maximisation(cells: _Cells, n_tokens: int, iterations: int) -> NDArray[np.float64]:
    """t(token | word) of every cell. *Shape:* [C]"""
    pairs, pair = np.unique(cells.word * max(n_tokens, 1) + cells.token, return_inverse=True)
    word_of_pair = pairs // max(n_tokens, 1)
    table = np.ones(len(pairs))
    for _ in range(iterations):
        weight = cells.repeats * table[pair]
        scale = cells.copies / np.bincount(cells.group, weight, len(cells.copies))
        expected = np.bincount(pair, weight * scale[cells.group], len(pairs))
        # A floor far above the denormals: a pair that EM has given up stays comparable within its group.
        table = np.maximum(expected / np.bincount(word_of_pair, expected)[word_of_pair], 1e-100)
    return table[pair]


def _links(
    cells: _Cells,
    chosen: NDArray[np.bool_],
    sources: Sequence[Sequence[str]],
    words: list[str],
    tokens: list[str],
) -> list[list[Copies]]:
    links: list[list[Copies]] = [[] for _ in sources]
    for cell in np.flatnonzero(chosen):
        group = cells.group[cell]
        example, word = int(cells.example[group]), words[cells.word[cell]]
        token, copies = tokens[cells.token[cell]], int(cells.copies[group])
        found = (i for i, x in enumerate([*sources[example], NULL]) if x == word)
        links[example] += [Copies(token, copies, (i,)) for i in found]
    return [sorted(found, key=lambda link: (link.positions, link.symbol)) for found in links]
