"""The two networks of a recipe, sized for its vocabularies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from permparse.base.errors import UserError
from permparse.nn import Encoder, EncoderSettings, JumpScorer, MultisetTagger, restore_encoder
from permparse.nn.encoders import WordEncoderSettings
from permparse.parsers.base import device_of
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.recipe import ORDER, TAG, MultisetPermutationRecipe
from permparse.text import SPECIAL_SYMBOLS, Example

ENCODERS_FILE = "encoders.json"


def build_networks(
    recipe: MultisetPermutationRecipe, codec: Codec, files: Mapping[str, bytes] | None = None, where: str = ""
) -> tuple[MultisetTagger, JumpScorer]:
    """Untrained networks of the right size, on the recipe's device; their weights follow from its seed.

    ``files`` are those of a saved parser, whose encoders may need some of them; ``where`` names it.
    """
    device = device_of(recipe)
    torch.manual_seed(recipe.seed)
    kept = {} if files is None else json.loads(files.get(ENCODERS_FILE, b"{}"))

    def encoder(stage: str, settings: EncoderSettings) -> Encoder | None:
        if files is None:
            return None
        of_stage = {name: files[stored] for name, stored in kept.get(stage, {}).items()}
        return restore_encoder(settings, codec.sizes, of_stage, where)

    try:
        symbols = len(codec.symbols)
        tagger = MultisetTagger(recipe.tagger, codec.sizes, symbols, encoder(TAG, recipe.tagger.encoder))
        order_encoder = encoder(ORDER, recipe.scorer.encoder)
        scorer = JumpScorer(recipe.scorer, codec.sizes, symbols, len(SPECIAL_SYMBOLS), order_encoder)
    except ValueError as error:
        raise UserError(f"the networks of this recipe cannot be built: {error}") from error
    return tagger.to(device), scorer.to(device)


def encoder_files(encoders: Mapping[str, Encoder]) -> dict[str, bytes]:
    """What a saved parser keeps of its encoders besides their weights; what two of them share is kept once."""
    files: dict[str, bytes] = {}
    stored: dict[str, dict[str, str]] = {}
    for stage, encoder in encoders.items():
        for name, content in encoder.files().items():
            same = next((known for known, other in files.items() if other == content), None)
            files.setdefault(same or f"{stage}_{name}", content)
            stored.setdefault(stage, {})[name] = same or f"{stage}_{name}"
    return files | {ENCODERS_FILE: json.dumps(stored).encode()} if stored else {}


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


def count_words(encoder: Encoder, codec: Codec, examples: Sequence[Example]) -> None:
    """Let an encoder know how rare the words of the training data are."""
    ids = np.concatenate([codec.encode(example.source).ids for example in examples])
    encoder.count_words(torch.from_numpy(ids))
