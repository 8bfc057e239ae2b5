"""Many runs at a time: failures stay alone, what shares weights waits, and an interruption ends the children."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from permparse.executors import executor_for
from permparse.experiments.plan import Run
from permparse.experiments.runner import Failure, Places, Running, run_all
from permparse.experiments.study import Row

WORKER = """
import json, os, sys, time
def main(job):
    job = json.loads(job)
    name = job["row"]["name"]
    with open(os.path.join(job["results"], "calls"), "a") as file:
        seen = [name, os.environ.get("OMP_NUM_THREADS"), os.environ.get("PERMPARSE_DATA"), os.getpid()]
        print(json.dumps(seen), file=file)
    if name.startswith("bad"):
        print("first line")
        raise ValueError("the reason it failed")
    if name.startswith("killed"):
        os.kill(os.getpid(), 9)
    time.sleep(30 if name.startswith("long") else 0.3)
"""


class Notes:
    """A watcher that writes down what it is told."""

    def __init__(self, tick: Callable[[], None] = lambda: None) -> None:
        self.events: list[tuple[str, str]] = []
        self.most = 0
        self._tick = tick

    def started(self, running: Running) -> None:
        self.events.append(("started", running.run.name))

    def finished(self, running: Running) -> None:
        self.events.append(("finished", running.run.name))

    def failed(self, failure: Failure) -> None:
        self.events.append(("failed", failure.run.name))

    def tick(self, running: Sequence[Running], waiting: Sequence[Run]) -> None:
        self.most = max(self.most, len(running))
        self._tick()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    (tmp_path / "results").mkdir()
    (tmp_path / "own_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return Places(tmp_path / "runs", tmp_path / "results", tmp_path / "data")


def _do(places: Places, rows: Sequence[Row], jobs: int = 2, notes: Notes | None = None) -> tuple[list[Failure], Notes]:
    notes = notes or Notes()
    with executor_for(None, jobs, []) as executor:
        runs = [Run(row, 0) for row in rows]
        return run_all(runs, places, executor, notes, worker="own_worker:main"), notes


def _calls(places: Places) -> list[list[object]]:
    path = places.results / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _row(name: str, *overrides: str) -> Row:
    """A row with a tagger of its own."""
    return Row(name, "doubling", (*overrides, f"tagger.training.lr={len(name)}e-4"))


def test_a_failed_run_never_stops_the_others(places: Places) -> None:
    failures, notes = _do(places, [_row("bad"), _row("killed"), _row("good"), _row("typo", "tagger.training.epoch=1")])
    assert {f.run.row.name: f.reason for f in failures} == {
        "bad": "ValueError: the reason it failed",
        "killed": "killed by signal 9",
        "typo": "recipe doubling --set tagger.training.epoch=1 --set tagger.training.lr=4e-4 --set seed=0: "
        "unknown key 'tagger.training.epoch': did you mean 'epochs'?",
    }
    assert ("finished", "good-seed0") in notes.events
    # A process that was killed is begun again, one that failed is not.
    assert sorted(call[0] for call in _calls(places)) == ["bad", "good", "killed", "killed", "killed"]
    log = next(f.log for f in failures if f.run.row.name == "bad")
    assert log is not None
    assert "first line" in log.read_text()


def test_runs_go_side_by_side_on_one_thread_each(places: Places) -> None:
    _, notes = _do(places, [_row("a"), _row("bb"), _row("ccc")], jobs=2)
    assert notes.most == 2
    assert sorted(call[:3] for call in _calls(places)) == [[name, "1", str(places.data)] for name in ("a", "bb", "ccc")]


def test_one_job_keeps_all_threads(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    _, notes = _do(places, [_row("a"), _row("bb")], jobs=1)
    assert notes.most == 1
    assert _calls(places)[0][1] is None


@pytest.mark.parametrize("override", ["decoder=hungarian", "scorer.training.lr=1e-4"])
def test_a_run_waits_for_the_weights_it_shares(places: Places, override: str) -> None:
    first, second = Row("first", "doubling"), Row("second", "doubling", (override,))
    _, notes = _do(places, [first, second, _row("third")])
    order = [event for event in notes.events if event[1] in ("first-seed0", "second-seed0")]
    assert order == [(what, run) for run in ("first-seed0", "second-seed0") for what in ("started", "finished")]
    assert notes.events[1] == ("started", "third-seed0")


def test_what_is_hopeless_is_ended_and_no_failure(places: Places) -> None:
    notes = Notes()
    with executor_for(None, 1, []) as executor:
        runs = [Run(_row("long"), 0), Run(_row("good"), 0)]

        def hopeless(running: Running) -> bool:
            return running.run.row.name == "long" and bool(_calls(places))

        assert run_all(runs, places, executor, notes, hopeless, "own_worker:main") == []
    assert notes.events[-1] == ("finished", "good-seed0")


def _signalled(places: Places, number: int, wanted: int) -> Notes:
    """Notes that send this process a signal once so many workers have begun."""

    def tick() -> None:
        if len(_calls(places)) >= wanted:
            os.kill(os.getpid(), number)

    return Notes(tick)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_children(places: Places, number: int) -> None:
    # In a background job, SIGINT is ignored from the start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _do(places, [_row("long"), _row("longer")], notes=_signalled(places, number, 2))
    finally:
        signal.signal(signal.SIGINT, before)
    for call in _calls(places):
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(call[3])), 0)


def test_what_runs_under_nohup_survives_a_closed_terminal(places: Places) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert _do(places, [_row("good")], notes=_signalled(places, signal.SIGHUP, 1))[0] == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
