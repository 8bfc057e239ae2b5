"""`permparse reproduce` from end to end, on a study that takes seconds."""

import io
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from permparse.cli import run
from permparse.executors.local import LocalExecutor
from permparse.experiments import catalogue, display
from permparse.experiments.display import Display, progress
from permparse.experiments.measures import accuracy
from permparse.experiments.plan import Known, Run
from permparse.experiments.published import Number
from permparse.experiments.records import Record, write_record
from permparse.experiments.runner import Failure, Running
from permparse.experiments.study import Cell, Line, Row, Study
from permparse.experiments.worker import Job

from .conftest import BASE

BAD = Row("bad", "doubling", ("tagger.training.epoch=1",))


def _study(*rows: Row) -> dict[str, Study]:
    lines = (Line("the paper", (Number(12.5, 1),)), *(Line(row.name, (Cell(row, accuracy()),)) for row in rows))
    return {"fake": Study("fake", "A fake table", ("all",), lines)}


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PERMPARSE_DATA", raising=False)


def test_without_a_name_it_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in catalogue.all_studies())
    assert "0 of 130" in shown
    assert not list(Path().iterdir())


def test_a_mistyped_name_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "cogs-exakt"]) == 2
    assert "did you mean 'cogs-exact'" in capsys.readouterr().err
    assert run(["reproduce", "atis", "--data", "nowhere"]) == 2
    assert "nowhere: no such folder" in capsys.readouterr().err


def test_it_runs_what_is_missing_skips_what_is_done_and_fails_in_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "all_studies", lambda: _study(BASE, BAD))
    assert run(["reproduce", "fake", "--seeds", "1"]) == 1
    first = capsys.readouterr()
    assert "2 runs, 2 of them to do" in first.err
    assert "failed  bad-seed0: recipe doubling --set tagger.training.epoch=1 --set seed=0: unknown key" in first.err
    assert "done    base-seed0" in first.err
    assert "12.5 ± 1" in first.out
    assert Path("results/runs/base-seed0.json").is_file()
    assert "| base |" in Path("results/README.md").read_text()

    monkeypatch.setattr(catalogue, "all_studies", lambda: _study(BASE))
    assert run(["reproduce", "fake", "--seeds", "1"]) == 0
    assert "1 runs, 0 of them to do" in capsys.readouterr().err


def test_no_run_shows_what_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, record: Callable[..., Record]
) -> None:
    monkeypatch.setattr(catalogue, "all_studies", lambda: _study(BASE))
    write_record(Path("results"), record(BASE, 0, 0.5))
    write_record(Path("results"), record(BASE, 1, 0.7))
    assert run(["reproduce", "all", "--no-run"]) == 0
    assert "60.0 ± 14.1" in capsys.readouterr().out
    assert "60.0 ± 14.1" in Path("results/README.md").read_text()


def test_a_changed_recipe_is_said_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, record: Callable[..., Record]
) -> None:
    write_record(Path("results"), record(BASE))
    changed = Row("base", "doubling", (*BASE.overrides, "scorer.training.epochs=2"))
    monkeypatch.setattr(catalogue, "all_studies", lambda: _study(changed))
    monkeypatch.setattr("permparse.experiments.runner.run_all", lambda *_: [])
    assert run(["reproduce", "fake", "--seeds", "1"]) == 0
    assert "base-seed0: its recipe has changed since it was run" in capsys.readouterr().err


def test_an_interruption_says_how_to_go_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> list[Failure]:
        raise KeyboardInterrupt

    monkeypatch.setattr(catalogue, "all_studies", lambda: _study(BASE))
    monkeypatch.setattr("permparse.experiments.runner.run_all", interrupted)
    assert run(["reproduce", "fake"]) == 130
    assert "the same command continues from here" in capsys.readouterr().err
    assert Path("results/README.md").is_file()


def test_on_a_terminal_the_time_left_is_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Callable[..., Record]
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(display, "err", terminal)
    write_record(tmp_path, record(BASE))
    with LocalExecutor(2) as executor, Display(2, executor, Known(tmp_path)) as shown:
        shown.tick([], [Run(BASE, 1), Run(BASE, 2)])
        # 181 s each, of training and evaluation, two at a time.
        assert "about 3 min 01 s left" in shown.time_left([], [Run(BASE, 1), Run(BASE, 2)])
        assert shown.time_left([], [Run(BAD, 0)]) == ""


def test_progress_follows_the_log_of_a_run(trained: tuple[Job, Record]) -> None:
    job, _ = trained
    running = Running(Run(BASE, 0), job.folder, job.folder / "log", Future(), 0.0)
    assert progress(running) == "evaluating"
    assert progress(replace(running, folder=job.folder / "nothing")) == "starting"
    stages = [json.loads(line) for line in (job.folder / "log.jsonl").read_text().splitlines()]
    half = job.folder.parent / "half"
    half.mkdir()
    (half / "log.jsonl").write_text("\n".join(json.dumps(event) for event in stages if event["event"] == "epoch"))
    assert progress(replace(running, folder=half)) == "order: 1 of 1 epochs"
