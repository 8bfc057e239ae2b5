"""What settings may suit a data set: some follow from its figures, others are for short trials to decide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from permparse.base.settings import Table, merged
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.parsers.recipe import Round
from permparse.text import Example

TAG_STEPS, ORDER_STEPS, TRIAL_STEPS = 4000, 1500, 600
"""Steps of training that suit data of any size: small data is seen often, large data a few times."""
MOST_EPOCHS, FEWEST_EPOCHS = 150, 3
EVALUATIONS = 10
"""How often a stage is evaluated while it trains."""
LARGE = 10_000
"""From so many examples on, batches are larger and dropout is lower."""
MOST_COPIES = 4
NOTATIONS = ("full", "bold", "raw")
HINTS = ("value", "ibm1")
ENCODERS = ("bilstm", "geometric")

Changes = dict[str, Any]


def rounds(examples: Sequence[Example]) -> list[Round]:
    """Figures of the data first; then trials of the notation, of the hints, and of the tagger's encoder."""
    return [
        lambda recipe: {"figures": changed(recipe, from_figures(examples))},
        lambda recipe: {f"notation {name}": changed(recipe, {"data": {"notation": name}}) for name in NOTATIONS},
        lambda recipe: {f"hints {kind}": changed(recipe, {"tagger": {"hints": {"kind": kind}}}) for kind in HINTS},
        lambda recipe: {
            f"encoder {kind}": changed(recipe, {"tagger": {"encoder": {"kind": kind}}}) for kind in ENCODERS
        },
    ]


def from_figures(examples: Sequence[Example]) -> Changes:
    """Settings that follow from how many examples there are, and how often a token recurs in an output."""
    large = len(examples) >= LARGE
    batch = 64 if large else 32
    dropout, ff_dropout = (0.1, 0.1) if large else (0.25, 0.4)
    copies = max(max(Counter(example.output.split()).values(), default=1) for example in examples)
    return {
        "tagger": {
            "max_count": min(MOST_COPIES, max(2, copies)),
            "ff_dropout": ff_dropout,
            "encoder": {"dropout": dropout},
            "hints": {"epochs": MOST_EPOCHS},
            "training": _training(TAG_STEPS, batch, len(examples)),
        },
        "scorer": {"training": _training(ORDER_STEPS, 32, len(examples))},
    }


def for_trial(recipe: MultisetPermutationRecipe, examples: int) -> MultisetPermutationRecipe:
    """The recipe with a short training of the tagger, evaluated at its end alone."""
    training = _training(TRIAL_STEPS, recipe.tagger.training.batch, examples)
    return changed(recipe, {"tagger": {"training": training | {"evaluate_every": training["epochs"]}}})


def _training(steps: int, batch: int, examples: int) -> dict[str, int]:
    """Epochs for so many steps, and how often to evaluate."""
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(steps * batch / max(1, examples))))
    return {"epochs": epochs, "batch": batch, "evaluate_every": max(1, epochs // EVALUATIONS)}


def changed(recipe: MultisetPermutationRecipe, changes: Table) -> MultisetPermutationRecipe:
    """The recipe with some settings changed."""
    return type(recipe).model_validate(merged(recipe.model_dump(exclude_none=True), changes))
