"""Settings that adapt: the parser proposes what may suit the data, short trials on training pairs decide.

A trial trains the first stage for a while on the shorter training examples and is scored on the longest ones, which
look like the future. No recipe is chosen by a dev or test set, nor by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from permparse.base.batching import spread
from permparse.parsers.base import Parser, Splits
from permparse.parsers.recipe import Recipe
from permparse.parsers.registry import parser_class
from permparse.tasks import Task
from permparse.text import Example
from permparse.training.log import RunLog
from permparse.training.loop import Trainer
from permparse.training.progress import Progress
from permparse.training.trials import remembered

LONGEST = 0.2
"""Share of the examples, the longest, that trials are scored on."""
MOST_TRAINED, MOST_SCORED = 1500, 300
"""Examples of a trial at most, evenly spread."""
FEWEST = 50
"""With fewer examples trials say nothing, and the first proposal is taken."""


@dataclass(frozen=True)
class Trial:
    """A proposal that was tried, and how it scored (higher is better)."""

    label: str
    score: float


def adapted(
    recipe: Recipe, task: Task, examples: Sequence[Example], tell: Callable[[list[Trial], str], None] = lambda *_: None
) -> Recipe:
    """The recipe with what it leaves open chosen for these training examples; ``tell`` hears of every round of trials
    and of the label that is taken.

    The parser proposes in rounds, each a set of alternatives to what the rounds before have chosen.
    """
    if not recipe.adapt:
        return recipe
    kind = parser_class(recipe.parser)
    train, longest = _by_length(examples)
    for proposals in kind.proposals(recipe, task, examples):
        alternatives = proposals.alternatives(recipe)
        best = next(iter(alternatives))
        if len(alternatives) > 1 and len(examples) >= FEWEST:
            trials = [
                Trial(label, remembered(one, examples, lambda recipe: _score(kind, recipe, task, train, longest)))
                for label, one in alternatives.items()
            ]
            counted = [proposals.handicapped(trial.label, trial.score) for trial in trials]
            best = trials[counted.index(max(counted))].label
            tell(trials, best)
        recipe = alternatives[best]
    return recipe.model_copy(update={"adapt": False})


def _by_length(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Shorter examples to train a trial on, and the longest to score it on."""
    order = sorted(range(len(examples)), key=lambda i: (len(examples[i].output), i))
    cut = len(order) - max(1, round(LONGEST * len(order)))
    shorter, longest = order[:cut], order[cut:]
    return (
        [examples[shorter[i]] for i in spread(len(shorter), MOST_TRAINED)],
        [examples[longest[i]] for i in spread(len(longest), MOST_SCORED)],
    )


def _score(
    kind: type[Parser], recipe: Recipe, task: Task, train: Sequence[Example], longest: Sequence[Example]
) -> float:
    """What the first stage scores on the longest examples after a short training on the others."""
    parser = kind.build(kind.for_trial(recipe, len(train)), task, train)
    stage = next(iter(parser.stages(Splits(train, longest))))
    Trainer(stage, recipe.seed, None, RunLog(None)).fit(Progress(quiet=True))
    scores = stage.evaluate()
    return scores.main if scores.smooth is None else scores.smooth
