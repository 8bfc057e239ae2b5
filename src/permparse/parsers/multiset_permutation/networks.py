"""The two networks of a recipe, at the size its vocabularies ask for, and the word vectors they start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from permparse.base.errors import UserError
from permparse.nn import Encoder, JumpScorer, MultisetTagger, WordEncoder
from permparse.nn.encoders import EncoderSettings, WordEncoderSettings
from permparse.parsers.base import device_of
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.text import SPECIAL_SYMBOLS, Example, read_vectors


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


def require_weights_for(
    recipe: MultisetPermutationRecipe, codec: Codec, weights: Sequence[Mapping[str, Tensor]], where: str
) -> None:
    """UserError if the saved weights of tagger and scorer are too few for the networks that the recipe describes: found
    out before networks of any size are built."""
    tagger, scorer, symbols = recipe.tagger, recipe.scorer, len(codec.symbols)
    least = (
        _least_weights(tagger.encoder, codec) + symbols * tagger.max_count * tagger.ff_size,
        _least_weights(scorer.encoder, codec) + scorer.ff_size * (scorer.ff_size + scorer.jump_size + scorer.copy_size),
    )
    for name, needed, tensors in zip(("tagger", "scorer"), least, weights, strict=True):
        found = sum(tensor.numel() for tensor in tensors.values())
        if found < needed:
            raise UserError(f"{where}: the {name} of this recipe has at least {needed:,} weights, found {found:,}")


def _least_weights(encoder: EncoderSettings, codec: Codec) -> int:
    """A lower bound: one embedding of every word, and a square matrix or more in every layer."""
    if not isinstance(encoder, WordEncoderSettings):
        return 0
    return len(codec.words) * encoder.embedding_size + encoder.layers * encoder.hidden_size**2


class Coverage(NamedTuple):
    """How many words of the vocabulary a file of vectors has."""

    found: int
    words: int


def count_words(encoder: Encoder, codec: Codec, examples: Sequence[Example]) -> None:
    """Let an encoder know how rare the words of the training data are."""
    ids = np.concatenate([codec.encode(example.source).ids for example in examples])
    encoder.count_words(torch.from_numpy(ids).to(next(encoder.parameters()).device))


def vectors_of(encoder: Encoder) -> Path | None:
    """The file of word vectors that the settings of an encoder name."""
    return encoder.settings.vectors if isinstance(encoder, WordEncoder) else None


def give_vectors(encoder: Encoder, codec: Codec) -> Coverage | None:
    """Put the word vectors of the file that the settings name into an untrained encoder; None if they name none."""
    path = vectors_of(encoder)
    if not isinstance(encoder, WordEncoder) or path is None:
        return None
    return _start_from(encoder, codec, path)


def _start_from(encoder: WordEncoder, codec: Codec, path: Path) -> Coverage:
    words = codec.words.tokens[len(codec.words.specials) :]
    fold = str.lower if codec.lowercase else str
    vectors = read_vectors(path, words, encoder.settings.embedding_size, fold)
    ids = torch.from_numpy(np.array(codec.words.ids(vectors), dtype=np.int64))
    device = encoder.words.weight.device
    encoder.start_from(ids.to(device), torch.from_numpy(np.stack(list(vectors.values()))).to(device))
    return Coverage(len(vectors), len(words))
