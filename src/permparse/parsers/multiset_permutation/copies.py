"""K from the data: the number of equal tokens that one word must be able to contribute."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from permparse.base.settings import merged
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.text import Example

USUAL, MOST = 4, 100
"""K where tokens recur but no word needs more, and the largest that is chosen."""
LOOKED_AT = 2000
"""Examples, those with the longest outputs, that decide."""
LEFT_OUT = 0.001
"""Share of the examples that may need more: they are left out of training."""


def with_max_count(
    recipe: MultisetPermutationRecipe, codec: Codec, examples: Sequence[Example]
) -> MultisetPermutationRecipe:
    """The recipe with the K that the examples need, if it leaves K open."""
    if recipe.tagger.max_count:
        return recipe
    changes = {"tagger": {"max_count": needed_copies(codec, examples)}}
    return type(recipe).model_validate(merged(recipe.model_dump(exclude_none=True), changes))


def needed_copies(codec: Codec, examples: Sequence[Example]) -> int:
    """The least K by which nearly all examples can be produced, and at least USUAL if as many equal tokens occur."""
    most = max((max(Counter(example.output.split()).values(), default=1) for example in examples), default=1)
    longest = sorted(examples, key=lambda example: -len(example.output))[:LOOKED_AT]
    needs = sorted((_needed(codec, example) for example in longest), reverse=True)
    allowed = int(LEFT_OUT * len(examples))
    needed = needs[allowed] if allowed < len(needs) else 1
    return min(MOST, max(needed, min(USUAL, max(2, most))))


def _needed(codec: Codec, example: Example) -> int:
    found = codec.producers(codec.encode(example.source)).target(codec.target(example))
    return max((math.ceil(group.number / len(group.positions)) for group in found.copies), default=1)
