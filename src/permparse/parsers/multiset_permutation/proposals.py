"""Settings that may suit a data set: some follow from its statistics, others are decided by short trials.

Settings made by the user are never changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from permparse.base.batching import spread
from permparse.base.settings import Table, merged
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.parsers.recipe import Round
from permparse.tasks import Task
from permparse.text import Example, Writing

TAG_STEPS, ORDER_STEPS, TRIAL_STEPS = 3000, 1000, 1200
"""Steps of training that suit data of any size: small data is seen often, large data a few times. Shorter trials
prefer what is learned fast to what holds on longer inputs."""
MOST_EPOCHS, FEWEST_EPOCHS = 150, 3
EVALUATIONS = 10
"""How often a stage is evaluated while it trains."""
LARGE = 10_000
"""From so many examples on, batches are larger, dropout is lower, and the first proposals are taken: what a trial
learns from a small part of the examples says little about all of them."""
MEDIUM = 3_000
"""From so many examples on, the average of the weights is kept; up to LARGE they take twice the steps."""
RECOMBINED = 20_000
"""Recombined examples at most; else as many as there are examples."""
NOTATIONS = ("full", "ends", "raw", "bold")
MEASURED = 1000
"""Outputs whose tokens are counted."""
LONGEST, WORTH_NAMES = 0.05, 0.1
"""Ends of arguments have names if so many fewer of the longest outputs need an exception then. Trials cannot tell: what
grows with length is still rare in training."""
TOKEN_COST = 0.05
"""Handicap of a notation, in nats, for each token of an output that another one drops: it has to be put in order."""
BOLD_COST = 0.1
"""Handicap, in nats, of dropping words at the price of more exceptions."""
ENCODERS = ("geometric", "bilstm")
BILSTM_COST = 0.25
"""Handicap of the BiLSTM, in nats: it ties what a word says to its neighbours, and so to the structures
of training. On longer sentences of the same structures, which trials are scored on, it may do as well; on new ones
not."""


def rounds(recipe: MultisetPermutationRecipe, task: Task, examples: Sequence[Example]) -> list[Round]:
    """Figures of the data first; then trials of the notation and of the tagger's encoder, and of the notation again:
    which one is best may depend on the encoder."""
    given = recipe.model_dump(exclude_unset=True)

    def trials(
        names: Iterable[str], change: Callable[[str], Table], handicaps: Mapping[str, float] | None = None
    ) -> Round:
        def alternatives(chosen: MultisetPermutationRecipe) -> dict[str, MultisetPermutationRecipe]:
            every = {name: changed(chosen, merged(change(name), given)) for name in names}
            first = next(iter(every))
            # What a user has set leaves nothing to try.
            return {first: every[first]} | {name: one for name, one in every.items() if one != every[first]}

        return Round(alternatives, handicaps or {})

    large = len(examples) >= LARGE
    lengths = different_notations(task, examples)
    handicaps = {name: TOKEN_COST * (length - min(lengths.values())) for name, length in lengths.items()}
    if "bold" in handicaps:
        handicaps["bold"] += BOLD_COST
    names, encoders = (list(lengths)[:1], ENCODERS[:1]) if large else (list(lengths), ENCODERS)
    notations = trials(names, lambda name: {"data": {"notation": name}}, handicaps)

    def notations_again(chosen: MultisetPermutationRecipe) -> dict[str, MultisetPermutationRecipe]:
        changes = chosen.tagger.encoder.kind != ENCODERS[0] and "kind" not in given.get("tagger", {}).get("encoder", {})
        return dict(notations.alternatives(chosen)) if changes else {"as it is": chosen}

    return [
        trials(["figures"], lambda _: from_figures(examples)),
        notations,
        trials(encoders, lambda kind: {"tagger": {"encoder": {"kind": kind}}}, {"bilstm": BILSTM_COST}),
        Round(notations_again, notations.handicaps),
    ]


def different_notations(task: Task, examples: Sequence[Example]) -> dict[str, float]:
    """The notations that drop different tokens, with the tokens that an output has on average; with names for ends, or
    without, by what longer outputs need."""
    pairs = [(example.source, example.output) for example in examples]
    writings = {name: Writing.learn(name, task, task.raw_outputs, pairs) for name in NOTATIONS}
    outputs = sorted({example.output for example in examples}, key=lambda output: (len(output), output))
    longest = outputs[-math.ceil(LONGEST * len(outputs)) :]
    saved = writings["full"].exceptional(longest) - writings["ends"].exceptional(longest)
    for name in ("full", "bold") if saved > WORTH_NAMES else ("ends",):
        del writings[name]
    dropped: dict[frozenset[str], str] = {}
    for name, writing in writings.items():
        dropped.setdefault(writing.notation.language.dropped, name)
    some = [outputs[i] for i in spread(len(outputs), MEASURED)]
    return {name: fmean(len(writings[name].shorten(output)) for output in some) for name in dropped.values()}


def from_figures(examples: Sequence[Example]) -> Table:
    """Settings that follow from how many examples there are."""
    large = len(examples) >= LARGE
    dropout, ff_dropout = (0.1, 0.1) if large else (0.25, 0.4)
    averaging = 0.995 if len(examples) >= MEDIUM else 0.0
    tag_steps = 2 * TAG_STEPS if MEDIUM <= len(examples) < LARGE else TAG_STEPS
    return {
        "tagger": {
            "max_count": 0,
            "ff_dropout": ff_dropout,
            "encoder": {"kind": ENCODERS[0], "dropout": dropout, "rare_dropout": 1.0},
            # A token belongs to the words that there are as many of, a relation to the first word of its value,
            # throughout training: only so can there be more of them later.
            "hints": {"kind": "auto", "weight": 0.7, "epochs": MOST_EPOCHS},
            "training": {
                "lr": 2e-3,
                "averaging": averaging,
                **_training(tag_steps, 64 if large else 32, len(examples)),
            },
        },
        "scorer": {
            "ff_dropout": 0.2,
            "encoder": {"dropout": 0.2},
            "training": {"averaging": 0.99, **_training(ORDER_STEPS, 32, len(examples))},
        },
        "recombined": min(1.0, RECOMBINED / len(examples)),
    }


def for_trial(recipe: MultisetPermutationRecipe, examples: int) -> MultisetPermutationRecipe:
    """The recipe with a short training of the tagger, evaluated at its end alone."""
    training = _training(TRIAL_STEPS, recipe.tagger.training.batch, examples)
    return changed(recipe, {"tagger": {"training": training | {"evaluate_every": training["epochs"]}}})


def changed(recipe: MultisetPermutationRecipe, changes: Table) -> MultisetPermutationRecipe:
    """The recipe with some settings changed."""
    return type(recipe).model_validate(merged(recipe.model_dump(exclude_none=True), changes))


def _training(steps: int, batch: int, examples: int) -> dict[str, int]:
    """Epochs for so many steps, and how often to evaluate."""
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(steps * batch / max(1, examples))))
    return {"epochs": epochs, "batch": batch, "evaluate_every": max(1, epochs // EVALUATIONS)}
