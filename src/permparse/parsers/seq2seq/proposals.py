"""How long to train on a data set: what a recipe leaves open follows from its figures, without trials."""

from __future__ import annotations

import math
from collections.abc import Sequence

from permparse.base.settings import Table, merged
from permparse.parsers.recipe import Round
from permparse.parsers.seq2seq.recipe import Seq2SeqRecipe
from permparse.tasks import Task
from permparse.text import Example

EVALUATIONS = 10
"""How often a network is evaluated while it trains."""
MOST_EPOCHS, FEWEST_EPOCHS = 100, 4
BATCH = 32


def rounds(recipe: Seq2SeqRecipe, task: Task, examples: Sequence[Example], steps: int, training: Table) -> list[Round]:
    """One round with one alternative: about so many steps, with these settings; raw outputs as they are cut."""
    given = recipe.model_dump(exclude_unset=True)
    batch = given.get("training", {}).get("batch", training.get("batch", BATCH))
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(steps * batch / max(1, len(examples)))))
    proposal: Table = {
        "training": {**training, "epochs": epochs, "batch": batch, "evaluate_every": max(1, epochs // EVALUATIONS)},
        "data": {"notation": "raw"} if task.raw_outputs else {},
    }

    def figures(chosen: Seq2SeqRecipe) -> dict[str, Seq2SeqRecipe]:
        changes = merged(proposal, given)
        return {"figures": type(chosen).model_validate(merged(chosen.model_dump(exclude_none=True), changes))}

    return [Round(figures)]
