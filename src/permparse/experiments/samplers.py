"""Which settings to try next: at random, as the paper does, or where Optuna expects most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from permparse.base.errors import UserError
from permparse.experiments.journal import Trial
from permparse.experiments.space import Choices, Settings, Space, Span

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

Curve = Mapping[int, float]
"""Validation scores of a training by step; steps of different stages differ."""


@dataclass(frozen=True)
class Tried:
    """A trial that is over: its score, which for a pruned one is the last of its curve."""

    trial: Trial
    score: float
    curve: Curve


class Sampler(ABC):
    """Draws trials; all that it knows is given to it, so that it goes on after an interruption as if there was none."""

    @abstractmethod
    def generation(self, slots: int, left: int) -> int:
        """How many trials to draw before results are awaited, if ``slots`` can run at once and ``left`` are wanted."""

    @abstractmethod
    def draw(self, number: int, tried: Sequence[Tried]) -> Settings:
        """The settings of a new trial."""

    @abstractmethod
    def hopeless(self, trial: Trial, curve: Curve, tried: Sequence[Tried]) -> bool:
        """Whether to give up a trial that has come so far."""


class RandomSampler(Sampler):
    """The paper's random search: no trial depends on another."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed

    def generation(self, slots: int, left: int) -> int:
        return left

    def draw(self, number: int, tried: Sequence[Tried]) -> Settings:
        return self._space.sample(self._seed, number)

    def hopeless(self, trial: Trial, curve: Curve, tried: Sequence[Tried]) -> bool:
        return False


class OptunaSampler(Sampler):
    """Optuna's tree-structured Parzen estimator and, if ``prune``, its median pruner.

    Trials are drawn in generations of those that run at once: then what is drawn does not depend on which ends first.
    """

    def __init__(self, space: Space, seed: int, prune: bool) -> None:
        self._optuna = _optuna()
        self._seed, self._prune = seed, prune
        self._distributions = {key: self._distribution(of) for key, of in space.dimensions.items()}

    def generation(self, slots: int, left: int) -> int:
        return min(slots, left)

    def draw(self, number: int, tried: Sequence[Tried]) -> Settings:
        study = self._study(number, tried)
        return dict(study.ask(self._distributions).params)

    def hopeless(self, trial: Trial, curve: Curve, tried: Sequence[Tried]) -> bool:
        if not self._prune:
            return False
        study = self._study(trial.number, tried)
        study.enqueue_trial(trial.settings)
        asked = study.ask(self._distributions)
        for step, score in curve.items():
            asked.report(score, step)
            if asked.should_prune():
                return True
        return False

    def _study(self, number: int, tried: Sequence[Tried]) -> Study:
        """What is known, as Optuna sees it; its chance is a function of the seed and the number of the next trial."""
        optuna = self._optuna
        chance = int(np.random.SeedSequence([self._seed, number]).generate_state(1)[0])
        sampler = optuna.samplers.TPESampler(seed=chance)
        study: Study = optuna.create_study(direction="maximize", sampler=sampler, pruner=optuna.pruners.MedianPruner())
        for one in tried:
            state = optuna.trial.TrialState.PRUNED if one.trial.pruned else optuna.trial.TrialState.COMPLETE
            known = optuna.trial.create_trial(
                state=state,
                params=one.trial.settings,
                distributions=self._distributions,
                value=one.score,
                intermediate_values=dict(one.curve),
            )
            study.add_trial(known)
        return study

    def _distribution(self, of: Span | Choices) -> BaseDistribution:
        kinds = self._optuna.distributions
        if isinstance(of, Choices):
            return kinds.CategoricalDistribution(of.values)
        if of.whole:
            return kinds.IntDistribution(of.low, of.high, log=of.log, step=of.step or 1)
        return kinds.FloatDistribution(of.low, of.high, log=of.log, step=of.step)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UserError(
            "--sampler tpe needs Optuna, which is not installed; pip install 'permparse[cluster]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
