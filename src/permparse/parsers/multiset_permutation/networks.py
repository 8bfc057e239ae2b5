"""The two networks of a recipe, at the size its vocabularies ask for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from permparse.base.errors import UserError
from permparse.nn import Encoder, JumpScorer, MultisetTagger
from permparse.parsers.base import device_of
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.text import SPECIAL_SYMBOLS, Example


def build_networks(recipe: MultisetPermutationRecipe, codec: Codec) -> tuple[MultisetTagger, JumpScorer]:
    """Untrained networks of the right size, on the recipe's device; their weights follow from its seed."""
    device = device_of(recipe)
    torch.manual_seed(recipe.seed)
    try:
        tagger = MultisetTagger(recipe.tagger, codec.sizes, len(codec.symbols))
        scorer = JumpScorer(recipe.scorer, codec.sizes, len(codec.symbols), len(SPECIAL_SYMBOLS))
    except ValueError as error:
        raise UserError(f"the networks of this recipe cannot be built: {error}") from error
    return tagger.to(device), scorer.to(device)


def count_words(encoder: Encoder, codec: Codec, examples: Sequence[Example]) -> None:
    """Let an encoder know how rare the words of the training data are."""
    ids = np.concatenate([codec.encode(example.source).ids for example in examples])
    encoder.count_words(torch.from_numpy(ids).to(next(encoder.parameters()).device))
