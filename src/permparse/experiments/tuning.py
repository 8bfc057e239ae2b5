"""Choosing settings by trials, as the paper does: draw some, train and score each, try the two best with another seed.

All of it is on disk: the journal says what was drawn, the record of every run what it scored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import tomli_w

from permparse.base.errors import UserError
from permparse.base.settings import Table, merged, nested, read_pair
from permparse.base.storage import write_atomically
from permparse.executors import Executor
from permparse.experiments.journal import Journal, Trial
from permparse.experiments.plan import FIRST_SEED, Known, Run, folder_for, missing
from permparse.experiments.records import Record
from permparse.experiments.runner import Failure, Places, Running, Watcher, run_all
from permparse.experiments.samplers import Curve, Sampler, Tried
from permparse.experiments.space import Settings, Space, as_overrides
from permparse.experiments.study import Row
from permparse.parsers.recipe import EXTEND, Recipe, load_recipe, recipe_names

TRAINED = "runs"
FINALISTS = 2
STAGE_STEPS = 10**6
"""Steps of a curve that a stage has at most."""


@dataclass(frozen=True)
class Tuning:
    """What is tuned: a recipe with some ``overrides``, scored by the main metric of its task on ``split``. ``seed``
    draws the trials and trains them; the finalists are trained with the next one, too."""

    recipe: str
    overrides: tuple[str, ...]
    space: Space
    split: str
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed < FIRST_SEED - 1:
            raise UserError(f"--seed {self.seed}: expected 0 to {FIRST_SEED - 2}; seeds from {FIRST_SEED} on report")
        for settings in self.space.corners():
            load_recipe(self.recipe, [*self.overrides, *as_overrides(settings)])

    def run(self, trial: Trial, again: bool = False) -> Run:
        """The training of a trial, ``again`` with the other seed."""
        row = Row(f"trial-{trial.number:03}", self.recipe, self._overrides(trial.settings), (self.split,))
        return Run(row, self.seed + again)

    def _overrides(self, settings: Settings) -> tuple[str, ...]:
        return (*self.overrides, *as_overrides(settings))

    def identity(self, sampler: str) -> Table:
        """What a folder of trials belongs to."""
        space = {key: repr(of) for key, of in self.space.dimensions.items()}
        recipe = load_recipe(self.recipe, self.overrides).for_results().to_toml()
        return {"recipe": recipe, "space": space, "split": self.split, "seed": self.seed, "sampler": sampler}

    def recipe_of(self, trial: Trial) -> str:
        """A trial as a recipe that extends the one that was tuned."""
        base = self.recipe if self.recipe in recipe_names() else str(Path(self.recipe).absolute())
        table: Table = {EXTEND: base}
        for pair in self._overrides(trial.settings):
            table = merged(table, nested(*read_pair(pair, "")))
        return tomli_w.dumps(table)


@dataclass(frozen=True)
class Finalist:
    """One of the best trials, with its score for either seed."""

    trial: Trial
    scores: tuple[float, float]

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)


class Observer(Watcher, Protocol):
    """Who is told what happens, also that a trial is given up."""

    def pruned(self, running: Running) -> None: ...


class Trials:
    """The trials of a tuning in a folder, run on an executor."""

    def __init__(self, tuning: Tuning, sampler: Sampler, kind: str, folder: Path) -> None:
        self._tuning, self._sampler = tuning, sampler
        self._journal = Journal(folder, tuning.identity(kind))
        self._places = Places(folder / TRAINED, folder)

    def search(self, count: int, executor: Executor, observer: Observer) -> list[Tried]:
        """Draw and score ``count`` trials, as far as that is not done, and return them, the best first."""
        failed: dict[int, Failure] = {}
        while True:
            tried = self.tried()
            over = {one.trial.number for one in tried} | failed.keys()
            left = [trial for trial in self._journal.trials if trial.number not in over]
            if not left:
                wanted = count - len(self._journal.trials)
                if wanted <= 0:
                    break
                size, first = self._sampler.generation(executor.slots, wanted), len(self._journal.trials)
                left = [self._journal.add(self._sampler.draw(first + k, tried)) for k in range(size)]
            failed |= self._run(left, tried, executor, observer)
        best = sorted((one for one in tried if not one.trial.pruned), key=lambda one: (-one.score, one.trial.number))
        if not best:
            raise UserError(f"no trial could be trained; the first: {failed[min(failed)].reason}")
        return best

    def _run(
        self, trials: Sequence[Trial], tried: Sequence[Tried], executor: Executor, observer: Observer
    ) -> dict[int, Failure]:
        of_run = {self._tuning.run(trial): trial for trial in trials}
        seen: dict[int, int] = {}

        def hopeless(running: Running) -> bool:
            trial, curve = of_run[running.run], curve_of(running.folder, running.run.recipe)
            if seen.get(trial.number) == len(curve):
                return False
            seen[trial.number] = len(curve)
            if not self._sampler.hopeless(trial, _last_stage(curve), tried):
                return False
            self._journal.prune(trial)
            observer.pruned(running)
            return True

        left = missing(list(of_run), Known(self._places.results))
        failures = run_all(left, self._places, executor, observer, hopeless)
        return {of_run[failure.run].number: failure for failure in failures}

    def tried(self) -> list[Tried]:
        """The trials that are over, by number."""
        known, tried = Known(self._places.results), []
        for trial in self._journal.trials:
            run = self._tuning.run(trial)
            curve = curve_of(folder_for(run, self._places.runs), run.recipe)
            record = known.find(run)
            if trial.pruned and curve:
                tried.append(Tried(trial, list(curve.values())[-1], curve))
            elif record is not None:
                tried.append(Tried(trial, self.score(record), curve))
        return tried

    def final(self, best: Sequence[Tried], executor: Executor, observer: Observer) -> list[Finalist]:
        """Train the best trials with the other seed; the finalists, the better one first."""
        runs = [self._tuning.run(one.trial, again=True) for one in best[:FINALISTS]]
        failures = run_all(missing(runs, Known(self._places.results)), self._places, executor, observer)
        if failures:
            raise UserError(f"{failures[0].run.name} could not be trained: {failures[0].reason}")
        known = Known(self._places.results)
        records = [record for run in runs if (record := known.find(run)) is not None]
        finalists = [
            Finalist(one.trial, (one.score, self.score(record)))
            for one, record in zip(best[:FINALISTS], records, strict=True)
        ]
        return sorted(finalists, key=lambda one: (-one.mean, one.trial.number))

    def score(self, record: Record) -> float:
        """The main metric of a run on the split that decides."""
        evaluation = record.evaluations[self._tuning.split]
        return evaluation.total.metrics[evaluation.main_metric]

    def write(self, path: Path, finalists: Sequence[Finalist], count: int) -> None:
        """Save the better finalist as a recipe."""
        first = finalists[0]
        scores = " and ".join(f"{100 * score:.1f}" for score in first.scores)
        tuning = self._tuning
        found = (
            f"# Trial {first.trial.number} of {count} by permparse tune: {scores} % on {tuning.split}, "
            f"seeds {tuning.seed} and {tuning.seed + 1}.\n"
        )
        write_atomically(path, (found + tuning.recipe_of(first.trial)).encode())


def curve_of(folder: Path, recipe: Recipe) -> Curve:
    """The validation scores of a run so far."""
    try:
        lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    curve: dict[int, float] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # a line that is being written
            continue
        if event["event"] == "epoch" and event["scores"]:
            step = recipe.stages.index(event["stage"]) * STAGE_STEPS + event["epoch"]
            curve[step] = next(iter(event["scores"].values()))
    return curve


def _last_stage(curve: Curve) -> Curve:
    """The scores of the stage that a run has reached: those of an earlier one measure something else."""
    last = max(curve, default=0) // STAGE_STEPS
    return {step: score for step, score in curve.items() if step // STAGE_STEPS == last}
