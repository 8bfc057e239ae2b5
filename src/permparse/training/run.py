"""A whole training: data, stage 1, annotation, stage 2, calibration, and the parser saved in the run's folder.

Run it again on the same folder with ``resume`` and it goes on from the last checkpoint to the very same weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from permparse.console import note
from permparse.data import Example
from permparse.errors import UserError
from permparse.multiset import CanonicalMultiset
from permparse.nn import MultisetTagger
from permparse.parser import FOLDER, Parse, Parser
from permparse.tasks import Task, get_task
from permparse.training.batching import spread
from permparse.training.codec import Codec
from permparse.training.log import RunLog
from permparse.training.loop import Trainer
from permparse.training.networks import build_networks
from permparse.training.ordering import OrderingStage, ordering_data
from permparse.training.progress import Progress
from permparse.training.recipe import Optimisation, Recipe
from permparse.training.storage import write_atomically
from permparse.training.tagging import (
    TaggingData,
    TaggingStage,
    annotate,
    encode_training_data,
    same_multiset,
    tag,
)

RECIPE_FILE = "recipe.toml"
RUN_FILE = "run.json"
CALIBRATION_EXAMPLES = 1000


@dataclass(frozen=True)
class RunSummary:
    """What a training did, saved as `run.json`. ``paper_would_drop``: examples whose free most likely multiset is wrong."""

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


def train(recipe: Recipe, folder: Path, resume: bool = False, quiet: bool = False) -> Parser:
    """Train both stages of a recipe in ``folder`` and return the parser, which is saved there too."""
    recipe = _open_folder(recipe, folder, resume)
    progress, log = Progress(quiet), RunLog(folder, recipe.tensorboard)
    try:
        return _train(recipe, folder, progress, log, quiet)
    finally:
        progress.stop()
        log.close()


def saved_recipe(folder: Path) -> Recipe:
    """The resolved recipe of a run."""
    path = folder / RECIPE_FILE
    if not path.is_file():
        raise UserError(f"{folder}: no run to resume here (no {RECIPE_FILE}); start one without --resume")
    return Recipe.from_toml(path.read_text(encoding="utf-8"), str(path))


def _open_folder(recipe: Recipe, folder: Path, resume: bool) -> Recipe:
    if resume:
        return saved_recipe(folder)
    if (folder / RECIPE_FILE).exists():
        raise UserError(
            f"{folder}: holds a run already; go on with it by --resume, or choose another folder with --output"
        )
    write_atomically(folder / RECIPE_FILE, recipe.to_toml().encode())
    return recipe


def _train(recipe: Recipe, folder: Path, progress: Progress, log: RunLog, quiet: bool) -> Parser:
    tell = (lambda _: None) if quiet else note
    task = get_task(recipe.task, **recipe.data.options)
    examples = load_split(task, "train", recipe)
    examples = [examples[i] for i in spread(len(examples), recipe.data.train_examples)]
    dev = load_split(task, task.dev_split, recipe) if task.dev_split in task.splits else []
    fingerprint = _fingerprint(examples, dev)
    _require_same_data(folder, fingerprint)
    log.write("start", task=task.name, seed=recipe.seed, examples=len(examples), data=fingerprint)

    codec = Codec.build(task, examples, recipe.data)
    tagger, scorer = build_networks(recipe, codec)
    tell(
        f"[bold]{task.name}[/]: {len(examples):,} examples, {len(codec.words):,} words, {len(codec.symbols):,} symbols, "
        f"{_parameters(tagger):,} + {_parameters(scorer):,} parameters"
    )
    judged1, train1 = _judged(recipe.stage1, examples, dev)
    data = encode_training_data(codec, train1, recipe.stage1, recipe.tagger.max_count)
    for line, reason in data.left_out[:3]:
        tell(f"[yellow]left out[/] training line {line}: {reason}")
    if not data.examples:
        raise UserError(
            f"{task.name}: no training example is left; raise tagger.max_count or look at the data"
        )
    trainer1 = Trainer(
        TaggingStage(codec, tagger, data, judged1, recipe.stage1, recipe.seed),
        recipe.stage1, recipe.seed, folder / "stage1", log, recipe.checkpoint_seconds,
    )  # fmt: skip
    position1 = trainer1.fit(progress)

    judged2, train2 = _judged(recipe.stage2, examples, dev)
    if train2 is not train1:
        data = encode_training_data(codec, train2, recipe.stage1, recipe.tagger.max_count)
    multisets, would_drop = _annotation(codec, tagger, data)
    tell(
        f"annotated {len(multisets):,} examples; the most likely multiset without the constraint is wrong for "
        f"{would_drop:,}, which the paper would drop"
    )
    log.write("annotated", examples=len(multisets), paper_would_drop=would_drop, left_out=len(data.left_out))
    stage2 = OrderingStage(
        codec,
        scorer,
        ordering_data(codec, data.sources, data.targets, multisets),
        judged2,
        tag(codec, tagger, [codec.encode(example.source) for example in judged2]),
        recipe.stage2,
        recipe.seed,
    )
    trainer2 = Trainer(
        stage2, recipe.stage2, recipe.seed + 1, folder / "stage2", log, recipe.checkpoint_seconds
    )
    position2 = trainer2.fit(progress)

    parser = Parser(recipe, codec, tagger, scorer)
    held_out = dev or judged2
    _calibrate(parser, [held_out[i] for i in spread(len(held_out), CALIBRATION_EXAMPLES)])
    parser.save(folder / FOLDER)
    summary = RunSummary(
        task=task.name,
        seed=recipe.seed,
        examples=len(data.examples),
        left_out=len(data.left_out),
        paper_would_drop=would_drop,
        words=len(codec.words),
        symbols=len(codec.symbols),
        tagger_parameters=_parameters(tagger),
        scorer_parameters=_parameters(scorer),
        tagger_seconds=round(position1.seconds, 1),
        scorer_seconds=round(position2.seconds, 1),
        tagger_score=position1.best_score,
        scorer_score=position2.best_score,
        data=fingerprint,
    )
    write_atomically(folder / RUN_FILE, (json.dumps(vars(summary), indent=2) + "\n").encode())
    log.write("finished", **vars(summary))
    tell(
        f"parser saved in [bold]{folder}[/] ({position1.seconds:.0f} + {position2.seconds:.0f} s of training)"
    )
    return parser


def load_split(task: Task, split: str, recipe: Recipe) -> list[Example]:
    """The examples of a split from the folder the recipe names, or from where the task finds them."""
    examples = task.load(split, recipe.data.folder)
    if not examples:
        raise UserError(f"{task.name}: the {split} split holds no examples")
    return examples


def _judged(
    settings: Optimisation, examples: Sequence[Example], dev: Sequence[Example]
) -> tuple[list[Example], Sequence[Example]]:
    """The examples that choose the epoch, and those left for training."""
    if settings.select == "longest" or not dev:
        by_length = sorted(range(len(examples)), key=lambda i: len(examples[i].target))
        count = max(1, round(settings.held_out * len(examples)))
        held, rest = by_length[-count:], sorted(by_length[:-count])
        pool, kept = [examples[i] for i in held], [examples[i] for i in rest] or list(examples)
    else:
        pool, kept = list(dev), examples
    return [pool[i] for i in spread(len(pool), settings.evaluate_examples)], kept


def _annotation(
    codec: Codec, tagger: MultisetTagger, data: TaggingData
) -> tuple[list[CanonicalMultiset], int]:
    free = tag(codec, tagger, data.sources)
    wrong = sum(not same_multiset(t.tokens, gold) for t, gold in zip(free, data.targets, strict=True))
    return annotate(tagger, data), wrong


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
            raise UserError(
                f"{folder}: the training or dev data has changed since this run began; start a new run"
            )
    else:
        write_atomically(path, json.dumps({"fingerprint": fingerprint}).encode())


def _parameters(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
