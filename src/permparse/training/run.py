"""A whole training: data, the stages of a parser one after the other, calibration, and the parser saved in the folder.

Run it again on the same folder with ``resume`` and it continues from the last checkpoint to the very same weights.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from permparse.base.batching import spread
from permparse.base.console import note
from permparse.base.errors import UserError
from permparse.base.locks import LOCK_FILE, locked
from permparse.base.reading import table_in, text_in
from permparse.base.storage import PART, is_saved, is_scratch, write_atomically
from permparse.base.threads import fix_threads
from permparse.parsers.base import FOLDER, RECIPE_FILE, Parser, Splits, parameters
from permparse.parsers.recipe import Recipe, load_recipe, read_recipe
from permparse.parsers.registry import parser_class
from permparse.tasks import Task, get_task
from permparse.text import Example
from permparse.training.adapt import Trial, adapted
from permparse.training.conditions import Conditions
from permparse.training.log import RunLog
from permparse.training.loop import Position, Trainer
from permparse.training.parallel import ALONE, Processes
from permparse.training.progress import Progress
from permparse.training.reuse import DATA_FILE, take_over

RUN_FILE = "run.json"
VALIDATION_EXAMPLES = 500
"""Examples used for an evaluation during training, evenly spread over the validation examples."""
CALIBRATION_EXAMPLES = 1000
HELD_OUT = 0.03
"""Share of the training data, its longest examples, that is held out where no dev split selects."""


@dataclass(frozen=True)
class StageSummary:
    """What the training of a stage cost and gave; a stage that trains the network of an earlier one again adds no
    parameters."""

    parameters: int
    seconds: float
    score: float


@dataclass(frozen=True)
class RunSummary:
    """What a training did, saved as `run.json`; ``figures`` are those that the stages report."""

    task: str
    parser: str
    seed: int
    stages: dict[str, StageSummary]
    figures: dict[str, int]
    data: str


def train(
    recipe: Recipe | str,
    folder: Path | str,
    task: Task | None = None,
    resume: bool = False,
    quiet: bool = False,
    take_stage: tuple[str, Path] | None = None,
    processes: Processes = ALONE,
) -> Parser:
    """Train all stages of a recipe (or of the one with this name) in ``folder``; the parser is saved there, too.

    ``task`` takes the place of the one that the recipe names. ``take_stage`` names a stage and the folder of a run with
    the same settings up to it, from where it is then taken over. ``processes`` train together; only the first one
    calibrates and saves the parser.
    """
    folder = Path(folder)
    recipe = load_recipe(recipe) if isinstance(recipe, str) else recipe
    if resume:
        recipe = saved_recipe(folder)
    if not processes.first:
        return _train(recipe, folder, task, resume, True, None, processes)
    if not resume and (folder / RECIPE_FILE).exists():
        raise UserError(f"{folder}: holds a run already; continue it with --resume, or choose another with --output")
    is_new = not folder.exists()
    with locked(folder, "another training is at work here; wait for it, or choose another folder with --output"):
        try:
            return _train(recipe, folder, task, resume, quiet, take_stage, processes)
        finally:
            _remove_scratch(folder, recipe)
            if is_new and {path.name for path in folder.iterdir()} <= {LOCK_FILE}:  # no run has begun
                shutil.rmtree(folder, ignore_errors=True)


def _train(
    recipe: Recipe,
    folder: Path,
    task: Task | None,
    resume: bool,
    quiet: bool,
    take_stage: tuple[str, Path] | None,
    processes: Processes,
) -> Parser:
    """`train` in a folder that is locked by the first process."""
    if take_stage is not None and not resume:
        take_over(take_stage[1], take_stage[0], folder, recipe)
    fix_threads()
    known = Conditions.recorded(folder) if resume else None
    if known is not None:
        known.require_same_recipe(recipe, folder)
        known.require_same_processes(processes.size, folder)
        for line in known.apply():
            if processes.first:
                note("[yellow]note[/] {line}", line=line)
    progress = Progress(quiet)
    task = task or get_task(recipe.task, **recipe.data.options)
    if processes.first:
        recipe = _adapted(recipe, task, quiet)
    chosen = processes.from_first(recipe.to_toml())
    if not processes.first:
        recipe = read_recipe(chosen, "the first process")
    run = _Run(recipe, task, folder, known, progress, quiet, processes)
    try:
        return run.all_stages()
    finally:
        progress.stop()
        run.log.close()


def _remove_scratch(folder: Path, recipe: Recipe) -> None:
    """Remove what an earlier process was killed over."""
    for leftover in [path for path in folder.iterdir() if is_scratch(path.name)]:
        leftover.unlink(missing_ok=True)
    for stage in recipe.stages:
        shutil.rmtree(folder / f"{stage}{PART}", ignore_errors=True)


def saved_recipe(folder: Path) -> Recipe:
    """The resolved recipe of a run."""
    path = folder / RECIPE_FILE
    if not path.is_file():
        raise UserError(f"{folder}: no run to resume here (no {RECIPE_FILE}); start one without --resume")
    return read_recipe(text_in(path), str(path))


class _Run:
    """One training in one folder, stage after stage."""

    def __init__(
        self,
        recipe: Recipe,
        task: Task,
        folder: Path,
        known: Conditions | None,
        progress: Progress,
        quiet: bool,
        processes: Processes,
    ) -> None:
        self.recipe, self.task, self.folder, self.progress, self.quiet = recipe, task, folder, progress, quiet
        self.processes = processes
        with processes.after_first():
            examples = training_examples(task, recipe)
            self.dev = load_split(task, task.dev_split, recipe) if task.dev_split in task.splits else []
        self.fingerprint = _fingerprint(examples, self.dev)
        processes.require_same(self.fingerprint, "training or dev data")
        self.parser = parser_class(recipe.parser).build(recipe, task, examples)
        self.splits = _splits(recipe, examples, self.dev)
        # All files are read now, so that a mistake in one shows before anything is trained.
        new_stages = [stage for stage in self.parser.networks if not is_saved(folder / stage)]
        lines = self.parser.initialise(new_stages)
        conditions = known or Conditions.present(recipe, processes.size)
        conditions = conditions.with_files(self.parser.starting_files(new_stages))
        self.log = RunLog(folder if processes.first else None, recipe.tensorboard)
        # Only now, with data and settings found good, does the run begin to exist.
        if processes.first:
            _require_same_data(folder, self.fingerprint)
            conditions.save(folder)
            write_atomically(folder / RECIPE_FILE, recipe.to_toml().encode())
        self.log.write("start", task=task.name, seed=recipe.seed, data=self.fingerprint)
        facts = ", ".join([f"{len(examples):,} examples", *self.parser.facts()])
        self.tell("[bold]{task}[/]: {facts}", task=task.name, facts=facts)
        for line in lines:
            self.tell("{line}", line=line)
            self.log.write("initialised", line=line)
        for line in self.parser.warnings(self.splits):
            self.tell("[yellow]note[/] {line}", line=line)
            self.log.write("warning", line=line)

    def tell(self, message: str, **values: object) -> None:
        if not self.quiet:
            note(message, **values)

    def all_stages(self) -> Parser:
        """Whatever is left to do, up to the saved parser."""
        positions: dict[str, Position] = {}
        figures: dict[str, int] = {}
        for number, stage in enumerate(self.parser.stages(self.splits)):
            for line in stage.report.lines:
                self.tell("{line}", line=line)
            self.log.write("stage", stage=stage.name, **stage.report.figures)
            figures = stage.report.figures | figures  # those of a network's first stage, and what is new
            checkpoint = self.folder / stage.name
            trainer = Trainer(stage, self.recipe.seed + number, checkpoint, self.log, self.processes)
            positions[stage.name] = trainer.fit(self.progress)
        if not self.processes.first:
            return self.parser
        held_out = self.dev or self.splits.validation
        self.parser.calibrate([held_out[i] for i in spread(len(held_out), CALIBRATION_EXAMPLES)])
        self.parser.save(self.folder / FOLDER)
        self._summarise(positions, figures)
        return self.parser

    def _summarise(self, positions: dict[str, Position], figures: dict[str, int]) -> None:
        sizes = {name: parameters(network) for name, network in self.parser.networks.items()}
        stages = {
            name: StageSummary(sizes.get(name, 0), round(p.seconds, 3), p.best_score) for name, p in positions.items()
        }
        recipe = self.recipe
        summary = RunSummary(self.task.name, recipe.parser, recipe.seed, stages, figures, self.fingerprint)
        write_atomically(self.folder / RUN_FILE, (json.dumps(asdict(summary), indent=2) + "\n").encode())
        self.log.write("finished", seconds=round(sum(p.seconds for p in positions.values()), 1))
        seconds = " + ".join(f"{p.seconds:.0f}" for p in positions.values()) or "0"
        self.tell("parser saved in [bold]{folder}[/] ({seconds} s of training)", folder=self.folder, seconds=seconds)


def training_examples(task: Task, recipe: Recipe) -> list[Example]:
    """The training examples that the recipe asks for."""
    everything = load_split(task, "train", recipe)
    return [everything[i] for i in spread(len(everything), recipe.data.train_examples)]


def _adapted(recipe: Recipe, task: Task, quiet: bool) -> Recipe:
    """The recipe with what it leaves open chosen by trials, each round of which is told in one line."""

    def tell(trials: list[Trial], taken: str) -> None:
        if not quiet:
            tried = ", ".join(f"{trial.label} {trial.score:.3f}" for trial in trials)
            note("[dim]tried[/] {tried} [dim]→[/] {taken}", tried=tried, taken=taken)

    return adapted(recipe, task, training_examples(task, recipe), tell) if recipe.adapt else recipe


def load_split(task: Task, split: str, recipe: Recipe) -> list[Example]:
    """The examples of a split from the folder the recipe names, or from where the task finds them."""
    examples = task.load(split, recipe.data.folder)
    if not examples:
        raise UserError(f"{task.name}: the {split} split holds no examples")
    return examples


def _splits(recipe: Recipe, examples: Sequence[Example], dev: Sequence[Example]) -> Splits:
    """The examples left for training, and those that select an epoch."""
    pool, kept = list(dev), list(examples)
    if recipe.data.validation == "longest" or not dev:
        by_length = sorted(range(len(examples)), key=lambda i: len(examples[i].target))
        count = max(1, round(HELD_OUT * len(examples)))
        pool = [examples[i] for i in by_length[-count:]]
        kept = [examples[i] for i in sorted(by_length[:-count])] or list(examples)
    return Splits(kept, [pool[i] for i in spread(len(pool), VALIDATION_EXAMPLES)])


def _fingerprint(*splits: Sequence[Example]) -> str:
    digest = hashlib.sha256()
    for examples in splits:
        for example in examples:
            digest.update(repr((example.source, example.target)).encode())
    return digest.hexdigest()[:16]


def _require_same_data(folder: Path, fingerprint: str) -> None:
    path = folder / DATA_FILE
    if path.exists():
        if table_in(path).get("fingerprint") != fingerprint:
            raise UserError(f"{folder}: the training or dev data has changed since this run began; start a new run")
    else:
        write_atomically(path, json.dumps({"fingerprint": fingerprint}).encode())
