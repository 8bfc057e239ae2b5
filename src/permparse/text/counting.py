"""Align a token to words by count: every output has as many copies of the token as its input has of these words.

Such an alignment holds at any length and depth, whereas an aligner that uses only co-occurrence may prefer a word that
merely occurs in the same sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # only training needs it, and it takes a while to load
    from scipy.sparse import csr_matrix

AGREEMENT = 0.97
"""Share of the pairs with the token or the words in which the numbers must be equal."""
SEEN = 8
"""Pairs that must have a token, or a word."""
HIGHEST = 4
"""Larger numbers count as this one."""
MOST_WORDS = 8
"""Words that may say a token together."""
TIED = 0.005
"""Words whose agreement differs by less are compared by where they stand."""

Counts: TypeAlias = NDArray[np.int64]


def count_speakers(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> dict[str, frozenset[str]]:
    """For each token that there are as many of as of some words, these words.

    Cost: a few sparse products of (types × pairs) matrices.
    """
    words, in_sources = _counted(sources)
    tokens, in_targets = _counted(targets)
    if not words or not tokens:
        return {}
    together = (in_targets > 0).astype(np.int64) @ (in_sources > 0).astype(np.int64).T
    equal, enough = _comparisons(in_targets, in_sources)
    sizes = np.diff(in_sources.indptr)
    found: dict[str, frozenset[str]] = {}
    for t, token in enumerate(tokens):
        shared = together[t].toarray()[0]
        union = in_targets[t].nnz + sizes - shared
        agreement = equal[t].toarray()[0] / np.maximum(1, union)
        best = float(agreement.max())
        if best >= AGREEMENT:
            tied = [words[w] for w in np.flatnonzero(agreement >= best - TIED)]
            found[token] = frozenset([_nearest(token, tied, sources, targets)])
            continue
        faithful = np.flatnonzero((enough[t].toarray()[0] >= AGREEMENT * sizes) & (shared > 0))
        ordered = sorted(faithful.tolist(), key=lambda w: -int(shared[w]))[: 4 * MOST_WORDS]
        chosen = _together(in_targets[t].toarray()[0], {w: in_sources[w].toarray()[0] for w in ordered})
        if chosen:
            found[token] = frozenset(words[w] for w in chosen)
    return found


def _counted(sequences: Sequence[Sequence[str]]) -> tuple[list[str], csr_matrix]:
    """The frequent types, and how often each occurs in every sequence."""
    from scipy.sparse import csr_matrix

    counts = [Counter(sequence) for sequence in sequences]
    seen = Counter(token for count in counts for token in count)
    types = sorted(token for token, number in seen.items() if number >= SEEN)
    number = {token: i for i, token in enumerate(types)}
    cells = [
        (number[token], column, min(n, HIGHEST))
        for column, count in enumerate(counts)
        for token, n in count.items()
        if token in number
    ]
    rows, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
    return types, csr_matrix((values, (rows, columns)), shape=(len(types), len(sequences)), dtype=np.int64)


def _comparisons(in_targets: csr_matrix, in_sources: csr_matrix) -> tuple[csr_matrix, csr_matrix]:
    """[tokens, words]: in how many pairs both occur equally often, and in how many the token at least as often."""
    from scipy.sparse import csr_matrix

    equal = csr_matrix((in_targets.shape[0], in_sources.shape[0]), dtype=np.int64)
    enough = equal.copy()
    for number in range(1, HIGHEST + 1):
        exactly = (in_sources == number).astype(np.int64).T
        equal = equal + (in_targets == number).astype(np.int64) @ exactly
        enough = enough + (in_targets >= number).astype(np.int64) @ exactly
    return equal.tocsr(), enough.tocsr()


def _together(wanted: Counts, of_words: Mapping[int, Counts]) -> list[int]:
    """Words that add up to the wanted numbers, added while the agreement rises; none if it stays too low."""
    chosen: list[int] = []
    total = np.zeros_like(wanted)
    reached = 0.0
    for word, counts in of_words.items():
        agreement = _agreement(wanted, np.minimum(HIGHEST, total + counts))
        if agreement > reached and len(chosen) < MOST_WORDS:
            chosen.append(word)
            total, reached = total + counts, agreement
    return chosen if reached >= AGREEMENT else []


def _agreement(wanted: Counts, counts: Counts) -> float:
    either = (wanted > 0) | (counts > 0)
    return float((wanted == counts)[either].mean()) if either.any() else 0.0


def _nearest(
    token: str, words: Sequence[str], sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> str:
    """Of words that say a token equally well the one that stands where the token does, relative to the length."""
    if len(words) == 1:
        return words[0]
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if token in t][:200]
    where = [_place(token, target) for _, target in pairs]

    def distance(word: str) -> float:
        places = [(_place(word, source), at) for (source, _), at in zip(pairs, where, strict=True) if word in source]
        return sum(abs(here - at) for here, at in places) / max(1, len(places))

    return min(words, key=lambda word: (distance(word), word))


def _place(token: str, sequence: Sequence[str]) -> float:
    """The mean position of a token, between 0 and 1."""
    return _mean(i for i, other in enumerate(sequence) if other == token) / max(1, len(sequence) - 1)


def _mean(numbers: Iterable[int]) -> float:
    found = list(numbers)
    return sum(found) / len(found)
