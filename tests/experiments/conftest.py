"""Small rows, and records made by hand, so that most tests train nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TINY
from permparse.evaluation.scores import Evaluation, GroupScore
from permparse.experiments import plan
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, StageCost
from permparse.experiments.study import Row
from permparse.experiments.worker import Job, execute

SMALL = (*TINY, "tagger.training.epochs=1", "data.train_examples=40", "data.options.longest_test=11")
BASE = Row("base", "doubling", SMALL)


@pytest.fixture(autouse=True)
def _seeds_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small seeds count in these tests; one of them is about those that do not."""
    monkeypatch.setattr(plan, "FIRST_SEED", 0)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, Record]:
    """The base row, trained and evaluated by a worker in this process."""
    root = tmp_path_factory.mktemp("reproduce")
    run = Run(BASE, 0)
    job = Job(BASE, 0, root / "runs" / run.new_folder, None, root / "results", jobs=1)
    return job, execute(job)


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
            taken_from=None,
            stages={"tag": StageCost(60.0, 1_000_000), "order": StageCost(120.0 + 60 * seed, 250_000)},
            evaluations=evaluations,
            jobs=2,
        )

    return make


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"
