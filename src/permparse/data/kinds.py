"""Kinds of values: tokens that the same token introduces in all outputs, as in city_name boston, city_name denver."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

MAJORITY = 0.6
"""A value stands behind the token that introduces its kind in at least this share of the cases."""
DEVOTED = 0.5
"""A token introduces a kind only if values of it follow in at least this share of the cases."""
FEWEST = 3
"""So many values make a kind."""


def value_kinds(outputs: Iterable[Sequence[str]], values: Collection[str]) -> dict[str, str]:
    """The token that introduces each of the values, for those that belong to a kind."""
    before: defaultdict[str, Counter[str]] = defaultdict(Counter)
    followed: Counter[str] = Counter()
    for output in outputs:
        for first, second in pairwise(output):
            followed[first] += 1
            if second in values and first not in values:
                before[second][first] += 1
    kinds: dict[str, str] = {}
    of_kind: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for value, counts in before.items():
        kind, count = counts.most_common(1)[0]
        if count >= MAJORITY * counts.total():
            kinds[value] = kind
            of_kind[kind] += count
            sizes[kind] += 1
    return {v: k for v, k in kinds.items() if sizes[k] >= FEWEST and of_kind[k] >= DEVOTED * followed[k]}
