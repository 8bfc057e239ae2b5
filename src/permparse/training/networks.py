"""The two networks of a recipe, at the size its vocabularies ask for, and the word vectors they start from."""

import numpy as np
import torch

from permparse.data import read_vectors
from permparse.errors import UserError
from permparse.nn import JumpScorer, MultisetTagger, SourceNetwork
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


def give_vectors(network: SourceNetwork, codec: Codec) -> tuple[int, int] | None:
    """Put the word vectors of the file that the settings name into an untrained network.

    How many words of the vocabulary have one, and of how many; None if the settings name no file.
    """
    if network.config.vectors is None:
        return None
    words = codec.words.tokens[len(codec.words.specials) :]
    fold = str.lower if codec.lowercase else str
    vectors = read_vectors(network.config.vectors, words, network.config.embedding_size, fold)
    network.start_from(torch.tensor(codec.words.ids(vectors)), torch.from_numpy(np.stack(list(vectors.values()))))
    return len(vectors), len(words)
