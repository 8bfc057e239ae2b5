"""One run in a process of its own: train what is left, judge it, write its record.

Started by the runner as `python -m permparse.experiments.worker ORDER`, with the order as JSON.
"""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from permparse.console import note
from permparse.errors import UserError
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, write_record
from permparse.experiments.study import Row
from permparse.parser import Parser
from permparse.training.evaluation import Evaluation, evaluate
from permparse.training.recipe import Recipe
from permparse.training.run import RECIPE_FILE, RUN_FILE, load_split, train
from permparse.training.sharing import tagger_origin


@dataclass(frozen=True)
class Order:
    """What a worker has to do: a row and seed, the folder to train in, and where to take stage 1 from."""

    row: Row
    seed: int
    folder: Path
    tagger_from: Path | None
    results: Path
    jobs: int

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> Order:
        return _ADAPTER.validate_json(text)


_ADAPTER = TypeAdapter(Order)


def execute(order: Order) -> Record:
    """Train, judge and record the run of an order."""
    recipe = Run(order.row, order.seed).recipe
    with _alone_in(order.folder):
        _train(recipe, order)
        parser = Parser.load(order.folder, recipe.decoder, recipe.candidates, recipe.surprise)
        evaluations = _judge(parser, order.row.splits)
    summary = json.loads((order.folder / RUN_FILE).read_text(encoding="utf-8"))
    record = Record(
        row=order.row.name,
        recipe_name=order.row.recipe,
        overrides=order.row.overrides,
        seed=order.seed,
        recipe=recipe.to_toml(),
        trained_as=order.folder.name,
        tagger_from=tagger_origin(order.folder),
        tagger_seconds=summary["tagger_seconds"],
        scorer_seconds=summary["scorer_seconds"],
        tagger_parameters=summary["tagger_parameters"],
        scorer_parameters=summary["scorer_parameters"],
        evaluations=evaluations,
        jobs=order.jobs,
    )
    write_record(order.results, record)
    return record


def _train(recipe: Recipe, order: Order) -> None:
    """Train from wherever the folder stands. How to parse has no part in it, so runs that differ in it share one."""
    if (order.folder / RUN_FILE).is_file():
        return
    if (order.folder / RECIPE_FILE).is_file():
        train(recipe, order.folder, resume=True)
    else:
        train(recipe, order.folder, tagger_from=order.tagger_from)


def _judge(parser: Parser, splits: tuple[str, ...]) -> dict[str, Evaluation]:
    evaluations = {}
    for split in splits:
        note(f"judging {split}")
        examples = load_split(parser.codec.task, split, parser.recipe)
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


def main() -> int:
    try:
        execute(Order.from_json(sys.argv[1]))
    except UserError as error:
        note(" ".join(str(error).split()))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
