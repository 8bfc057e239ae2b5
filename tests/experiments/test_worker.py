"""One run: what its record says, and that it goes on from wherever it was."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from permparse.base.errors import UserError
from permparse.executors.base import Work, perform
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, read_records
from permparse.experiments.worker import Job, execute
from permparse.parsers import Parser
from permparse.training.reuse import is_trained
from permparse.training.run import train


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    parser = Parser.load(folder)
    return {**parser.tagger.state_dict(), **{f"scorer.{k}": v for k, v in parser.scorer.state_dict().items()}}


def _same(a: Path, b: Path) -> bool:
    left, right = _weights(a), _weights(b)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_the_record_says_what_was_run(trained: tuple[Job, Record]) -> None:
    job, record = trained
    assert read_records(job.results) == [record]
    assert (record.row, record.seed, record.jobs) == ("base", 0, 1)
    assert record.recipe == Run(job.row, 0).recipe.to_toml()
    summary = json.loads((job.folder / "run.json").read_text())
    assert list(record.stages) == list(summary["stages"]) == ["tag", "order"]
    for name, cost in record.stages.items():
        assert (cost.seconds, cost.parameters) == tuple(summary["stages"][name][k] for k in ("seconds", "parameters"))
        assert cost.parameters > 0
    assert record.taken_from is None
    assert set(record.evaluations) == {"test"}
    assert record.evaluations["test"].total.examples == 100
    assert set(record.evaluations["test"].groups["length"]) == {"11"}
    assert str(job.results.parent) not in record.recipe


def test_an_interrupted_run_goes_on_to_the_same_result(trained: tuple[Job, Record], tmp_path: Path) -> None:
    job, record = trained
    cut = replace(job, folder=tmp_path / "runs" / job.folder.name, results=tmp_path / "results")
    shutil.copytree(job.folder, cut.folder)
    for part in ("order", "parser"):
        shutil.rmtree(cut.folder / part)
    (cut.folder / "run.json").unlink()
    again = execute(cut)
    assert _same(job.folder, cut.folder)
    assert again.evaluations["test"].total == record.evaluations["test"].total


def test_a_shared_tagger_gives_the_weights_of_training_alone(trained: tuple[Job, Record], tmp_path: Path) -> None:
    job, record = trained
    row = replace(job.row, name="faster", overrides=(*job.row.overrides, "scorer.training.lr=3e-3"))
    shared = Job(row, 0, tmp_path / "runs" / "shared", ("tag", job.folder), tmp_path / "results", jobs=1)
    result = execute(shared)
    train(Run(row, 0).recipe, tmp_path / "alone", quiet=True)
    assert _same(shared.folder, tmp_path / "alone")
    assert result.taken_from == job.folder.name
    assert result.stages["tag"] == record.stages["tag"]


def test_a_tagger_of_other_settings_is_refused(trained: tuple[Job, Record], tmp_path: Path) -> None:
    job, _ = trained
    recipe = Run(job.row, 1).recipe
    with pytest.raises(UserError, match="other settings"):
        train(recipe, tmp_path / "other", quiet=True, take_stage=("tag", job.folder))
    with pytest.raises(UserError, match="no run here whose stage 'tag' is finished"):
        train(recipe, tmp_path / "other", quiet=True, take_stage=("tag", tmp_path))
    assert not is_trained(tmp_path, "tag")


def test_another_decoder_evaluates_the_same_weights(trained: tuple[Job, Record], tmp_path: Path) -> None:
    job, record = trained
    changes = ("decoder=hungarian", "candidates=3", "surprise_weight=0.0")
    row = replace(job.row, name="hungarian", overrides=(*job.row.overrides, *changes))
    before = (job.folder / "run.json").stat().st_mtime_ns
    result = execute(replace(job, row=row, results=tmp_path / "results"))
    assert (job.folder / "run.json").stat().st_mtime_ns == before
    assert result.trained_as == record.trained_as
    assert 'decoder = "hungarian"\nsharpening = 1.0\ncandidates = 3\nsurprise_weight = 0.0\n' in result.recipe
    assert result.evaluations["test"].total.freq == record.evaluations["test"].total.freq


def test_work_that_is_done_is_not_done_again(trained: tuple[Job, Record]) -> None:
    job, record = trained
    path = job.results / "runs" / "base-seed0.json"
    before = path.stat().st_mtime_ns
    assert execute(job) == record
    assert path.stat().st_mtime_ns == before


def test_a_mistake_is_one_line(trained: tuple[Job, Record], tmp_path: Path) -> None:
    job, _ = trained
    bad = replace(job, row=replace(job.row, splits=("tset",)))
    work = Work("permparse.experiments.worker:main", bad.to_json(), tmp_path / "log")
    reason = perform(work)
    assert reason is not None
    assert reason.endswith("did you mean 'test'?")
    assert (tmp_path / "log").read_text().splitlines()[-1] == reason
