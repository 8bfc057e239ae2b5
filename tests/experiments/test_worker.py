"""One run: what its record says, and that it goes on from wherever it was."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from permparse.base.errors import UserError
from permparse.experiments.plan import Run
from permparse.experiments.records import Record, read_records
from permparse.experiments.worker import Order, execute, main
from permparse.parser import Parser
from permparse.training.run import train
from permparse.training.sharing import tagger_is_trained


def _weights(folder: Path) -> dict[str, torch.Tensor]:
    parser = Parser.load(folder)
    return {**parser.tagger.state_dict(), **{f"scorer.{k}": v for k, v in parser.scorer.state_dict().items()}}


def _same(a: Path, b: Path) -> bool:
    left, right = _weights(a), _weights(b)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_the_record_says_what_was_run(trained: tuple[Order, Record]) -> None:
    order, record = trained
    assert read_records(order.results) == [record]
    assert (record.row, record.seed, record.jobs) == ("base", 0, 1)
    assert record.recipe == Run(order.row, 0).recipe.to_toml()
    summary = json.loads((order.folder / "run.json").read_text())
    seconds = summary["tagger_seconds"], summary["scorer_seconds"]
    assert (record.tagger_seconds, record.scorer_seconds) == seconds
    assert record.tagger_parameters > 0
    assert record.scorer_parameters > 0
    assert record.tagger_from is None
    assert set(record.evaluations) == {"test"}
    assert record.evaluations["test"].total.examples == 100
    assert set(record.evaluations["test"].groups["length"]) == {"11"}
    assert str(order.results.parent) not in record.recipe


def test_an_interrupted_run_goes_on_to_the_same_result(trained: tuple[Order, Record], tmp_path: Path) -> None:
    order, record = trained
    cut = replace(order, folder=tmp_path / "runs" / order.folder.name, results=tmp_path / "results")
    shutil.copytree(order.folder, cut.folder)
    for part in ("stage2", "parser"):
        shutil.rmtree(cut.folder / part)
    (cut.folder / "run.json").unlink()
    again = execute(cut)
    assert _same(order.folder, cut.folder)
    assert again.evaluations["test"].total == record.evaluations["test"].total


def test_a_shared_stage_1_gives_the_weights_of_training_alone(trained: tuple[Order, Record], tmp_path: Path) -> None:
    order, record = trained
    row = replace(order.row, name="faster", overrides=(*order.row.overrides, "stage2.lr=3e-3"))
    shared = Order(row, 0, tmp_path / "runs" / "shared", order.folder, tmp_path / "results", jobs=1)
    result = execute(shared)
    train(Run(row, 0).recipe, tmp_path / "alone", quiet=True)
    assert _same(shared.folder, tmp_path / "alone")
    assert result.tagger_from == order.folder.name
    assert result.tagger_seconds == record.tagger_seconds


def test_a_stage_1_of_other_settings_is_refused(trained: tuple[Order, Record], tmp_path: Path) -> None:
    order, _ = trained
    recipe = Run(order.row, 1).recipe
    with pytest.raises(UserError, match="other settings"):
        train(recipe, tmp_path / "other", quiet=True, tagger_from=order.folder)
    with pytest.raises(UserError, match="no run with a finished stage 1"):
        train(recipe, tmp_path / "other", quiet=True, tagger_from=tmp_path)
    assert not tagger_is_trained(tmp_path)


def test_another_decoder_judges_the_same_weights(trained: tuple[Order, Record], tmp_path: Path) -> None:
    order, record = trained
    changes = ("decoder=hungarian", "candidates=3", "surprise=0.0")
    row = replace(order.row, name="hungarian", overrides=(*order.row.overrides, *changes))
    before = (order.folder / "run.json").stat().st_mtime_ns
    result = execute(replace(order, row=row, results=tmp_path / "results"))
    assert (order.folder / "run.json").stat().st_mtime_ns == before
    assert result.trained_as == record.trained_as
    assert 'decoder = "hungarian"\ncandidates = 3\nsurprise = 0.0\n' in result.recipe
    assert result.evaluations["test"].total.freq == record.evaluations["test"].total.freq


def test_a_mistake_is_one_line_and_exit_code_2(
    trained: tuple[Order, Record], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    order, _ = trained
    bad = replace(order, row=replace(order.row, splits=("tset",)))
    monkeypatch.setattr(sys, "argv", ["worker", bad.to_json()])
    assert main() == 2
    assert capfd.readouterr().err.splitlines()[-1].endswith("did you mean 'test'?")
