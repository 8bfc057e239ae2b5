"""The two networks of a recipe, at the size its vocabularies ask for."""

import torch

from permparse.errors import UserError
from permparse.nn import JumpScorer, MultisetTagger
from permparse.training.codec import SHAPES, Codec
from permparse.training.recipe import Recipe


def build_networks(recipe: Recipe, codec: Codec) -> tuple[MultisetTagger, JumpScorer]:
    """Untrained networks of the right size; their weights follow from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    sizes = len(codec.words), len(codec.symbols)
    try:
        tagger = MultisetTagger(recipe.tagger, *sizes, feature_sizes=(len(SHAPES),))
        scorer = JumpScorer(recipe.scorer, *sizes, feature_sizes=(len(SHAPES),))
    except ValueError as error:
        raise UserError(f"the networks of this recipe cannot be built: {error}") from error
    return tagger, scorer
