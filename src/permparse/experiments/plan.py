"""What is left to do: runs, the records that make them superfluous, and the folders they can start from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from permparse.base.errors import UserError, nearest
from permparse.experiments.records import Record, read_records
from permparse.experiments.study import Row, Study
from permparse.parsers.base import RECIPE_FILE
from permparse.parsers.recipe import Recipe, load_recipe, read_recipe
from permparse.training.reuse import is_trained

FIRST_SEED = 100
"""Tables show seeds from here on; those below are for choosing settings."""


@dataclass(frozen=True)
class Run:
    """A row with a seed: one training and its evaluation."""

    row: Row
    seed: int

    @property
    def name(self) -> str:
        return f"{self.row.name}-seed{self.seed}"

    @cached_property
    def recipe(self) -> Recipe:
        """The resolved recipe; UserError if the recipe or a setting of the row does not exist."""
        return load_recipe(self.row.recipe, [*self.row.overrides, f"seed={self.seed}"])

    @property
    def new_folder(self) -> str:
        """The name of its folder, if it needs one of its own: a changed recipe never meets an older run."""
        settings = training_settings(self.recipe).model_dump(mode="json", exclude_defaults=True)
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        return f"{self.name}-{digest[:8]}"


def training_settings(recipe: Recipe) -> Recipe:
    """What decides the weights: runs that agree in it are one training."""
    return recipe.for_results().for_training()


def shared_stage(recipe: Recipe) -> str | None:
    """The stage that runs may share although they differ later on: the first of several."""
    return recipe.stages[0] if len(recipe.stages) > 1 else None


def same_shared_stage(one: Recipe, other: Recipe) -> bool:
    """Whether two runs can share their first stage."""
    stage = shared_stage(one)
    return stage is not None and stage == shared_stage(other) and one.for_stage(stage) == other.for_stage(stage)


def runs_of(studies: Iterable[Study], seeds: int | None) -> list[Run]:
    """Every run the studies show, each once, the first seed of all rows first."""
    wanted = [Run(row, FIRST_SEED + k) for study in studies for row in study.rows for k in range(seeds or study.seeds)]
    return sorted(dict.fromkeys(wanted), key=lambda run: run.seed)


def only_rows(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """The runs of these rows, or all if none is named."""
    rows = {run.row.name for run in runs}
    for name in names:
        if name not in rows:
            raise UserError(f"no row is called {name!r} here: {nearest(name, sorted(rows))}")
    return [run for run in runs if not names or run.row.name in names]


class Known:
    """The records of a results folder, found by what was run and not by how it was called."""

    def __init__(self, results: Path) -> None:
        self.records = read_records(results)
        self._of_row: dict[Row, list[Record]] = {}
        self._settings = {record.name: _settings_of(record) for record in self.records}

    def find(self, run: Run) -> Record | None:
        """The record that answers the run: same settings, all splits evaluated."""
        try:
            wanted = run.recipe.for_results()
        except UserError:
            return None
        answers = [
            record
            for record in self.records
            if record.seed == run.seed
            and set(run.row.splits) <= record.evaluations.keys()
            # Comparing recipes as they are read, not as they were written, lets a new setting have its default.
            and self._settings[record.name] == wanted
        ]
        return next((r for r in answers if r.row == run.row.name), answers[0] if answers else None)

    def of_row(self, row: Row) -> list[Record]:
        """The records of a row as it is defined now, by seed, those for choosing settings aside."""
        if row not in self._of_row:
            seeds = sorted({record.seed for record in self.records if record.seed >= FIRST_SEED})
            found = [self.find(Run(row, seed)) for seed in seeds]
            self._of_row[row] = [record for record in found if record is not None]
        return self._of_row[row]

    def outdated(self, run: Run) -> bool:
        """Whether there is a record under this name of a recipe that has changed since."""
        return run.name in self._settings and self._settings[run.name] != run.recipe.for_results()


def missing(runs: Sequence[Run], known: Known) -> list[Run]:
    """The runs without a record, of those with the same settings and splits only one."""
    left: dict[tuple[str, tuple[str, ...]], Run] = {}
    for run in runs:
        if known.find(run) is None:
            left.setdefault(_identity(run), run)
    return list(left.values())


def folder_for(run: Run, runs: Path) -> Path:
    """The folder of the training that the run needs: begun or finished already, or new."""
    wanted = training_settings(run.recipe)
    found = (folder for folder, recipe in _trainings(runs) if training_settings(recipe) == wanted)
    return next(found, runs / run.new_folder)


def trained_stage_for(run: Run, runs: Path) -> tuple[str, Path] | None:
    """The first stage of another run, finished, that this one can start from."""
    stage = shared_stage(run.recipe)
    if stage is None:
        return None
    same = (folder for folder, recipe in _trainings(runs) if same_shared_stage(recipe, run.recipe))
    return next(((stage, folder) for folder in same if is_trained(folder, stage)), None)


def _trainings(runs: Path) -> Iterable[tuple[Path, Recipe]]:
    for path in sorted(runs.glob(f"*-seed*/{RECIPE_FILE}")):
        recipe = _recipe_of(path, path.stat().st_mtime_ns)
        if recipe is not None:
            yield path.parent, recipe


@cache
def _recipe_of(path: Path, changed: int) -> Recipe | None:
    """The recipe of a run; None if it is of another version of permparse, which makes it of no use here."""
    try:
        return read_recipe(path.read_text(encoding="utf-8"), str(path))
    except UserError:
        return None


def _settings_of(record: Record) -> Recipe | None:
    try:
        return read_recipe(record.recipe, record.row).for_results()
    except UserError:
        return None


def _identity(run: Run) -> tuple[str, tuple[str, ...]]:
    try:
        return run.recipe.for_results().to_toml(), run.row.splits
    except UserError:
        return run.name, run.row.splits
