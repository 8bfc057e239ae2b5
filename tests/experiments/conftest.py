"""Small rows, and records made by hand, so that most tests train nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY
from permparse.experiments.plan import Run
from permparse.experiments.records import Record
from permparse.experiments.study import Row
from permparse.experiments.worker import Order, execute
from permparse.training.evaluation import Evaluation, GroupScore

SMALL = (*TINY, "stage1.epochs=1", "data.train_examples=40", "data.options.longest_test=11")
BASE = Row("base", "doubling", SMALL)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Order, Record]:
    """The base row, trained and judged by a worker in this process."""
    root = tmp_path_factory.mktemp("reproduce")
    run = Run(BASE, 0)
    order = Order(BASE, 0, root / "runs" / run.new_folder, None, root / "results", jobs=1)
    return order, execute(order)


def score(value: float) -> GroupScore:
    return GroupScore(examples=100, metrics={"exact": value, "order_free": value}, freq=value, seq_given_freq=1.0)


@pytest.fixture
def record() -> Callable[..., Record]:
    """A record of a run with the given accuracy, as if it had been trained."""

    def make(row: Row, seed: int = 0, value: float = 0.5) -> Record:
        evaluations = {
            split: Evaluation(
                task=row.recipe,
                split=split,
                seed=seed,
                main_metric="exact",
                total=score(value),
                groups={"length": {"11": score(value), "12": score(value / 2)}},
                seconds=1.0,
                sentences_per_second=100.0,
                peak_memory_mb=1.0,
            )
            for split in row.splits
        }
        return Record(
            row=row.name,
            recipe_name=row.recipe,
            overrides=row.overrides,
            seed=seed,
            recipe=Run(row, seed).recipe.to_toml(),
            trained_as=f"{row.name}-seed{seed}-00000000",
            tagger_from=None,
            tagger_seconds=60.0,
            scorer_seconds=120.0 + 60 * seed,
            tagger_parameters=1_000_000,
            scorer_parameters=250_000,
            evaluations=evaluations,
            jobs=2,
        )

    return make


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"
