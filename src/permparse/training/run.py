"""A whole training: data, stage 1, annotation, stage 2, calibration, and the parser saved in the run's
folder.

Run it again on the same folder with ``resume`` and it goes on from the last checkpoint to the very same
weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from permparse.console import note
from permparse.data import Example
from permparse.errors import UserError
from permparse.parser import FOLDER, Parse, Parser
from permparse.tasks import Task, get_task
from permparse.training.batching import spread
from permparse.training.codec import Codec
from permparse.training.log import RunLog
from permparse.training.loop import Position, Stage, Trainer
from permparse.training.networks import build_networks, give_vectors
from permparse.training.ordering import OrderingData, OrderingStage, ordering_data
from permparse.training.progress import Progress
from permparse.training.recipe import Optimisation, Recipe
from permparse.training.sharing import copy_tagger
from permparse.training.storage import is_saved, write_atomically
from permparse.training.tagging import (
    TaggingData,
    TaggingStage,
    annotate,
    encode_training_data,
    same_multiset,
    tag,
)
from permparse.training.threads import fix_threads

RECIPE_FILE = "recipe.toml"
RUN_FILE = "run.json"
CALIBRATION_EXAMPLES = 1000


@dataclass(frozen=True)
class RunSummary:
    """What a training did, saved as `run.json`. ``paper_would_drop``: examples whose free most likely
    multiset is wrong."""

    task: str
    seed: int
    examples: int
    left_out: int
    paper_would_drop: int
    words: int
    symbols: int
    tagger_parameters: int
    scorer_parameters: int
    tagger_seconds: float
    scorer_seconds: float
    tagger_score: float
    scorer_score: float
    data: str


def train(
    recipe: Recipe,
    folder: Path | str,
    resume: bool = False,
    quiet: bool = False,
    tagger_from: Path | None = None,
) -> Parser:
    """Train both stages of a recipe in ``folder`` and return the parser, which is saved there too.

    ``tagger_from`` is the folder of a run with the same stage 1, which is then taken over from there.
    """
    folder = Path(folder)
    if resume:
        recipe = saved_recipe(folder)
    elif (folder / RECIPE_FILE).exists():
        raise UserError(f"{folder}: holds a run already; go on with it by --resume, or choose another with --output")
    elif tagger_from is not None:
        copy_tagger(tagger_from, folder, recipe)
    fix_threads()
    progress = Progress(quiet)
    session = _Run(recipe, folder, progress, quiet)
    try:
        return session.all_stages()
    finally:
        progress.stop()
        session.log.close()


def saved_recipe(folder: Path) -> Recipe:
    """The resolved recipe of a run."""
    path = folder / RECIPE_FILE
    if not path.is_file():
        raise UserError(f"{folder}: no run to resume here (no {RECIPE_FILE}); start one without --resume")
    return Recipe.from_toml(path.read_text(encoding="utf-8"), str(path))


class _Run:
    """One training in one folder, stage after stage."""

    def __init__(self, recipe: Recipe, folder: Path, progress: Progress, quiet: bool) -> None:
        self.recipe, self.folder, self.progress, self.quiet = recipe, folder, progress, quiet
        self.task = task = get_task(recipe.task, **recipe.data.options)
        everything = load_split(task, "train", recipe)
        self.examples = [everything[i] for i in spread(len(everything), recipe.data.train_examples)]
        self.dev = load_split(task, task.dev_split, recipe) if task.dev_split in task.splits else []
        self.fingerprint = _fingerprint(self.examples, self.dev)
        self.codec = Codec.build(task, self.examples, recipe.data)
        self.tagger, self.scorer = build_networks(recipe, self.codec)
        # Both files are read now, so that a mistake in the second shows before the first stage is trained.
        networks = {"tagger": self.tagger.source, "scorer": self.scorer.source}
        vectors = {
            name: give_vectors(network, self.codec)
            for number, (name, network) in enumerate(networks.items(), 1)
            if not is_saved(folder / f"stage{number}")
        }
        words = torch.from_numpy(np.concatenate([self.codec.encode(e.source).ids for e in self.examples]))
        for network in networks.values():
            network.count_words(words)
        self.log = RunLog(folder, recipe.tensorboard)
        # Only now, with data and settings found good, does the run begin to exist.
        _require_same_data(folder, self.fingerprint)
        write_atomically(folder / RECIPE_FILE, recipe.to_toml().encode())
        sizes = _parameters(self.tagger), _parameters(self.scorer)
        self.log.write("start", task=task.name, seed=recipe.seed, data=self.fingerprint)
        self.tell(
            f"[bold]{task.name}[/]: {len(self.examples):,} examples, {len(self.codec.words):,} words, "
            f"{len(self.codec.symbols):,} symbols, {sizes[0]:,} + {sizes[1]:,} parameters"
        )
        for name, coverage in vectors.items():
            if coverage is not None:
                self.tell(f"{name} vectors: {coverage[0]:,} of {coverage[1]:,} words")
                self.log.write("vectors", stage=name, found=coverage[0], words=coverage[1])

    def tell(self, message: str) -> None:
        if not self.quiet:
            note(message)

    def all_stages(self) -> Parser:
        """Whatever is left to do, up to the saved parser."""
        first, second = self.recipe.stage1, self.recipe.stage2
        judged, examples = _judged(first, self.examples, self.dev)
        data = self._encode(examples)
        for line, reason in data.left_out[:3]:
            self.tell(f"[yellow]left out[/] training line {line}: {reason}")
        stage1 = TaggingStage(self.codec, self.tagger, data, judged, first, self.recipe.seed)
        tagging = self._fit(stage1, first, 0)
        if (second.select, second.held_out) != (first.select, first.held_out):
            judged, examples = _judged(second, self.examples, self.dev)
            data = self._encode(examples)
        pairs, would_drop = self._annotate(data)
        tagged = tag(self.codec, self.tagger, [self.codec.encode(example.source) for example in judged])
        stage2 = OrderingStage(self.codec, self.scorer, pairs, judged, tagged, second, self.recipe.seed)
        ordering = self._fit(stage2, second, 1)
        parser = Parser(self.recipe, self.codec, self.tagger, self.scorer)
        held_out = self.dev or judged
        _calibrate(parser, [held_out[i] for i in spread(len(held_out), CALIBRATION_EXAMPLES)])
        parser.save(self.folder / FOLDER)
        self._summarise(data, would_drop, tagging, ordering)
        return parser

    def _encode(self, examples: Sequence[Example]) -> TaggingData:
        data = encode_training_data(self.codec, examples, self.recipe.stage1, self.recipe.tagger.max_count)
        if not data.examples:
            raise UserError(f"{self.task.name}: no training example is left; raise tagger.max_count")
        return data

    def _fit(self, stage: Stage, settings: Optimisation, number: int) -> Position:
        folder, every = self.folder / f"stage{number + 1}", self.recipe.checkpoint_seconds
        return Trainer(stage, settings, self.recipe.seed + number, folder, self.log, every).fit(self.progress)

    def _annotate(self, data: TaggingData) -> tuple[OrderingData, int]:
        """Gold multisets spread over the words, and how many examples the paper's way loses."""
        free = tag(self.codec, self.tagger, data.sources)
        right = [i for i, (t, gold) in enumerate(zip(free, data.targets, strict=True)) if same_multiset(t.tokens, gold)]
        lost = len(free) - len(right)
        if self.recipe.stage2.annotation == "drop":
            if not right:
                raise UserError(
                    f"{self.task.name}: no training example is left for stage 2: stage 1 tags none of {len(free):,} "
                    'with its gold multiset; train stage 1 longer, or set stage2.annotation = "constrained"'
                )
            chosen, multisets = right, [free[i].multiset for i in right]
            self.tell(f"annotated {len(right):,} examples (dropped {lost:,} with a wrong multiset, as the paper does)")
        else:
            chosen, multisets = list(range(len(free))), annotate(self.tagger, data)
            self.tell(f"annotated {len(multisets):,} examples (the paper would drop {lost:,} of them)")
        self.log.write("annotated", examples=len(multisets), paper_would_drop=lost, left_out=len(data.left_out))
        sources, targets = [data.sources[i] for i in chosen], [data.targets[i] for i in chosen]
        return ordering_data(self.codec, sources, targets, multisets), lost

    def _summarise(self, data: TaggingData, would_drop: int, tagging: Position, ordering: Position) -> None:
        summary = RunSummary(
            task=self.task.name,
            seed=self.recipe.seed,
            examples=len(data.examples),
            left_out=len(data.left_out),
            paper_would_drop=would_drop,
            words=len(self.codec.words),
            symbols=len(self.codec.symbols),
            tagger_parameters=_parameters(self.tagger),
            scorer_parameters=_parameters(self.scorer),
            tagger_seconds=round(tagging.seconds, 1),
            scorer_seconds=round(ordering.seconds, 1),
            tagger_score=tagging.best_score,
            scorer_score=ordering.best_score,
            data=self.fingerprint,
        )
        write_atomically(self.folder / RUN_FILE, (json.dumps(vars(summary), indent=2) + "\n").encode())
        self.log.write("finished", **vars(summary))
        minutes = f"{tagging.seconds:.0f} + {ordering.seconds:.0f} s"
        self.tell(f"parser saved in [bold]{self.folder}[/] ({minutes} of training)")


def load_split(task: Task, split: str, recipe: Recipe) -> list[Example]:
    """The examples of a split from the folder the recipe names, or from where the task finds them."""
    examples = task.load(split, recipe.data.folder)
    if not examples:
        raise UserError(f"{task.name}: the {split} split holds no examples")
    return examples


def _judged(
    settings: Optimisation, examples: Sequence[Example], dev: Sequence[Example]
) -> tuple[list[Example], list[Example]]:
    """The examples that choose the epoch, and those left for training."""
    if settings.select == "longest" or not dev:
        by_length = sorted(range(len(examples)), key=lambda i: len(examples[i].target))
        count = max(1, round(settings.held_out * len(examples)))
        held, rest = by_length[-count:], sorted(by_length[:-count])
        pool, kept = [examples[i] for i in held], [examples[i] for i in rest] or list(examples)
    else:
        pool, kept = list(dev), list(examples)
    return [pool[i] for i in spread(len(pool), settings.evaluate_examples)], kept


def _calibrate(parser: Parser, examples: Sequence[Example]) -> None:
    is_right = next(iter(parser.codec.task.metrics.values()))

    def right(i: int, parse: Parse) -> bool:
        return is_right(parse.output, examples[i].output)

    parser.calibrate([example.source for example in examples], right)


def _fingerprint(*splits: Sequence[Example]) -> str:
    digest = hashlib.sha256()
    for examples in splits:
        for example in examples:
            digest.update(repr((example.source, example.target)).encode())
    return digest.hexdigest()[:16]


def _require_same_data(folder: Path, fingerprint: str) -> None:
    path = folder / "data.json"
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
        if known != fingerprint:
            raise UserError(f"{folder}: the training or dev data has changed since this run began; start a new run")
    else:
        write_atomically(path, json.dumps({"fingerprint": fingerprint}).encode())


def _parameters(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
