"""Runs side by side: failures stay alone, what shares weights waits, and an interruption ends the children."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from permparse.experiments.executor import Failure, Places, Running, run_all
from permparse.experiments.plan import Run
from permparse.experiments.study import Row

WORKER = """
import json, os, sys, time
job = json.loads(sys.argv[1])
name = job["row"]["name"]
with open(os.path.join(job["results"], "calls"), "a") as file:
    print(json.dumps([name, os.environ.get("OMP_NUM_THREADS"), os.environ.get("PERMPARSE_DATA")]), file=file)
if name.startswith("bad"):
    print("first line")
    sys.exit("the reason it failed")
if name.startswith("killed"):
    os.kill(os.getpid(), 9)
time.sleep(30 if name.startswith("long") else 0.3)
"""


class Notes:
    """A watcher that writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.most = 0
        self.children: list[int] = []
        self.interrupt = False

    def started(self, running: Running) -> None:
        self.events.append(("started", running.run.name))
        self.children.append(running.process.pid)

    def finished(self, running: Running) -> None:
        self.events.append(("finished", running.run.name))

    def failed(self, failure: Failure) -> None:
        self.events.append(("failed", failure.run.name))

    def tick(self, running: Sequence[Running], waiting: Sequence[Run]) -> None:
        self.most = max(self.most, len(running))
        if self.interrupt:
            raise KeyboardInterrupt


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "results").mkdir()
    (tmp_path / "worker.py").write_text(WORKER)
    return Places(tmp_path / "runs", tmp_path / "results", tmp_path / "data")


def _do(places: Places, rows: Sequence[Row], jobs: int = 2, notes: Notes | None = None) -> tuple[list[Failure], Notes]:
    notes = notes or Notes()
    worker = (sys.executable, str(places.runs.parent / "worker.py"))
    return run_all([Run(row, 0) for row in rows], places, jobs, notes, worker), notes


def _row(name: str, *overrides: str) -> Row:
    """A row with a tagger of its own."""
    return Row(name, "doubling", (*overrides, f"tagger.training.lr={len(name)}e-4"))


def test_a_failed_run_never_stops_the_others(places: Places) -> None:
    failures, notes = _do(places, [_row("bad"), _row("killed"), _row("good"), _row("typo", "tagger.training.epoch=1")])
    assert {f.run.row.name: f.reason for f in failures} == {
        "bad": "the reason it failed",
        "killed": "killed by signal 9",
        "typo": "recipe doubling --set tagger.training.epoch=1 --set tagger.training.lr=4e-4 --set seed=0: "
        "unknown key 'tagger.training.epoch': did you mean 'epochs'?",
    }
    assert ("finished", "good-seed0") in notes.events
    log = next(f.log for f in failures if f.run.row.name == "bad")
    assert log is not None
    assert "first line" in log.read_text()


def test_runs_go_side_by_side_on_one_thread_each(places: Places) -> None:
    _, notes = _do(places, [_row("a"), _row("bb"), _row("ccc")], jobs=2)
    assert notes.most == 2
    calls = [json.loads(line) for line in (places.results / "calls").read_text().splitlines()]
    assert sorted(calls) == [[name, "1", str(places.data)] for name in ("a", "bb", "ccc")]


def test_one_job_keeps_all_threads(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    _, notes = _do(places, [_row("a"), _row("bb")], jobs=1)
    assert notes.most == 1
    assert json.loads((places.results / "calls").read_text().splitlines()[0])[1] is None


@pytest.mark.parametrize("override", ["decoder=hungarian", "scorer.training.lr=1e-4"])
def test_a_run_waits_for_the_weights_it_shares(places: Places, override: str) -> None:
    first, second = Row("first", "doubling"), Row("second", "doubling", (override,))
    _, notes = _do(places, [first, second, _row("third")])
    order = [event for event in notes.events if event[1] in ("first-seed0", "second-seed0")]
    assert order == [(what, run) for run in ("first-seed0", "second-seed0") for what in ("started", "finished")]
    assert notes.events[1] == ("started", "third-seed0")


def test_an_interruption_ends_the_children(places: Places) -> None:
    notes = Notes()
    notes.interrupt = True
    with pytest.raises(KeyboardInterrupt):
        _do(places, [_row("long"), _row("longer")], notes=notes)
    assert len(notes.children) == 2
    for child in notes.children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_what_runs_under_nohup_survives_a_closed_terminal(places: Places) -> None:
    notes = Notes()
    notes.tick = lambda running, waiting: os.kill(os.getpid(), signal.SIGHUP)  # type: ignore[method-assign]
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert _do(places, [_row("good")], notes=notes)[0] == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_to_end_ends_the_children_too(places: Places) -> None:
    notes = Notes()
    notes.tick = lambda running, waiting: os.kill(os.getpid(), signal.SIGTERM)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        _do(places, [_row("long")], notes=notes)
    with pytest.raises(ProcessLookupError):
        os.kill(notes.children[0], 0)
