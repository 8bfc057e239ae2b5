"""One run in a process of its own: train what is left, evaluate it, write its record."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from permparse.base.console import note
from permparse.evaluation.scores import Evaluation, evaluate
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, StageCost, read_record, record_path, write_record
from permparse.experiments.study import Row
from permparse.parsers import Parser, Recipe
from permparse.parsers.base import RECIPE_FILE
from permparse.training.reuse import origin
from permparse.training.run import RUN_FILE, load_split, train


@dataclass(frozen=True)
class Job:
    """What a worker has to do: a row and seed, the folder to train in, and a stage to take over from another run."""

    row: Row
    seed: int
    folder: Path
    take_stage: tuple[str, Path] | None
    results: Path
    jobs: int

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> Job:
        return _ADAPTER.validate_json(text)


_ADAPTER = TypeAdapter(Job)


def execute(job: Job) -> Record:
    """Train, evaluate and record a run, unless that is done: an executor may begin work again that was over."""
    run = Run(job.row, job.seed)
    with _alone_in(job.folder):
        known = record_path(job.results, run.name)
        if known.is_file() and _answers(record := read_record(known), run):
            return record
        _train(run.recipe, job)
        record = _measured(run.recipe, job)
        write_record(job.results, record)
    return record


def _answers(record: Record, run: Run) -> bool:
    return record.recipe == run.recipe.to_toml() and set(run.row.splits) <= record.evaluations.keys()


def _measured(recipe: Recipe, job: Job) -> Record:
    """The record of a run that is trained."""
    parsing = {name: getattr(recipe, name) for name in recipe.parse_settings}
    evaluations = _evaluate(Parser.load(job.folder, **parsing), job.row.splits)
    summary = json.loads((job.folder / RUN_FILE).read_text(encoding="utf-8"))
    return Record(
        row=job.row.name,
        recipe_name=job.row.recipe,
        overrides=job.row.overrides,
        seed=job.seed,
        recipe=recipe.to_toml(),
        trained_as=job.folder.name,
        taken_from=origin(job.folder),
        stages={name: StageCost(of["seconds"], of["parameters"]) for name, of in summary["stages"].items()},
        evaluations=evaluations,
        jobs=job.jobs,
    )


def _train(recipe: Recipe, job: Job) -> None:
    """Train from wherever the folder stands. How to parse has no part in it, so runs that differ in it share one."""
    if (job.folder / RUN_FILE).is_file():
        return
    if (job.folder / RECIPE_FILE).is_file():
        train(recipe, job.folder, resume=True)
    else:
        train(recipe, job.folder, take_stage=job.take_stage)


def _evaluate(parser: Parser, splits: tuple[str, ...]) -> dict[str, Evaluation]:
    evaluations = {}
    for split in splits:
        note("evaluating {split}", split=split)
        examples = load_split(parser.task, split, parser.recipe)
        # The recipe is in the record, once for all splits.
        evaluations[split] = replace(evaluate(parser, examples, split)[0], recipe="")
    return evaluations


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process trains in the folder: a second command, or a worker left by a killed one."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("waiting for another process that trains this run")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(job: str) -> None:
    """Execute a job that is given as JSON: what an executor calls."""
    execute(Job.from_json(job))
