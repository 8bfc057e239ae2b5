"""Runs side by side, each in its own process: a failed one never stops the others, Ctrl-C stops all and loses no
work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from permparse.base.errors import UserError
from permparse.experiments.plan import Run, folder_for, same_shared_stage, trained_stage_for, training_settings
from permparse.experiments.worker import Job

WORKER = (sys.executable, "-m", "permparse.experiments.worker")
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Places:
    """Where runs are trained, where their records go, and where the data is (None: downloaded)."""

    runs: Path
    results: Path
    data: Path | None = None


@dataclass(frozen=True)
class Failure:
    """A run that did not end well: the last line it said, and where the rest is."""

    run: Run
    reason: str
    log: Path | None = None


@dataclass
class Running:
    """A run that is under way."""

    run: Run
    folder: Path
    log: Path
    process: subprocess.Popen[bytes]
    started: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


class Watcher(Protocol):
    """Who is told what happens."""

    def started(self, running: Running) -> None: ...
    def finished(self, running: Running) -> None: ...
    def failed(self, failure: Failure) -> None: ...
    def tick(self, running: Sequence[Running], waiting: Sequence[Run]) -> None: ...


def run_all(
    runs: Sequence[Run], places: Places, jobs: int, watcher: Watcher, worker: Sequence[str] = WORKER
) -> list[Failure]:
    """Do all runs, at most ``jobs`` at a time, and return those that failed.

    ``worker`` is the command that does one; its last argument will be the job.
    """
    waiting, failures = _resolvable(runs, watcher)
    with _children() as running:
        while waiting or running:
            while len(running) < jobs and (run := _next(waiting, running, places.runs)) is not None:
                waiting.remove(run)
                running.append(_start(run, places, jobs, worker))
                watcher.started(running[-1])
            for ended in [r for r in running if r.process.poll() is not None]:
                running.remove(ended)
                if ended.process.returncode == 0:
                    watcher.finished(ended)
                else:
                    failures.append(Failure(ended.run, _last_line(ended), ended.log))
                    watcher.failed(failures[-1])
            watcher.tick(running, waiting)
            time.sleep(POLL_SECONDS if running else 0)
    return failures


def _resolvable(runs: Sequence[Run], watcher: Watcher) -> tuple[list[Run], list[Failure]]:
    """The runs whose recipe can be read, and a failure for every other."""
    good, failures = [], []
    for run in runs:
        try:
            _ = run.recipe
            good.append(run)
        except UserError as error:
            failures.append(Failure(run, str(error)))
            watcher.failed(failures[-1])
    return good, failures


def _next(waiting: Sequence[Run], running: Sequence[Running], runs: Path) -> Run | None:
    """The first run that need not wait for the weights of one under way."""
    for run in waiting:
        others = [other.run.recipe for other in running]
        same_weights = any(training_settings(recipe) == training_settings(run.recipe) for recipe in others)
        same_stage = any(same_shared_stage(recipe, run.recipe) for recipe in others)
        if not same_weights and not (same_stage and trained_stage_for(run, runs) is None):
            return run
    return None


def _start(run: Run, places: Places, jobs: int, worker: Sequence[str]) -> Running:
    folder = folder_for(run, places.runs)
    job = Job(run.row, run.seed, folder, trained_stage_for(run, places.runs), places.results, jobs)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{run.name}.log"
    with open(log, "ab") as file:
        process = subprocess.Popen(
            [*worker, job.to_json()],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=_environment(places.data, jobs),
            # Ctrl-C reaches this process only, which then ends the others in its own way.
            start_new_session=True,
        )
    return Running(run, folder, log, process, time.monotonic())


def _environment(data: Path | None, jobs: int) -> dict[str, str]:
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "COLUMNS": "200"}
    if data is not None:
        environment["PERMPARSE_DATA"] = str(data.absolute())
    if jobs > 1:
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return environment


def _last_line(ended: Running) -> str:
    if ended.process.returncode < 0:
        return f"killed by signal {-ended.process.returncode}"
    lines = ended.log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "ended without a word")


@contextmanager
def _children() -> Iterator[list[Running]]:
    """A list of runs under way that ends with this process: by Ctrl-C, a signal to end, or a closed terminal."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    running: list[Running] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as under nohup, which means a closed terminal to be survived
                signal.signal(number, interrupt)
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stop(running)


def _stop(running: Sequence[Running]) -> None:
    """End what is still running; its last checkpoint is whole, whenever that happens."""
    for each in running:
        each.process.terminate()
    for each in running:
        try:
            each.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            each.process.kill()
            each.process.wait()
