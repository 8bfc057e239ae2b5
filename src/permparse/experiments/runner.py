"""Many runs at a time on an executor: a failed one never stops the others, and Ctrl-C stops all and loses no work."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from permparse.base.errors import UserError
from permparse.executors import Executor, Work
from permparse.experiments.plan import Run, folder_for, same_shared_stage, trained_stage_for, training_settings
from permparse.experiments.worker import Job

WORKER = "permparse.experiments.worker:main"
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Places:
    """Where runs are trained, where their records go, and where the data is (None: downloaded)."""

    runs: Path
    results: Path
    data: Path | None = None


@dataclass(frozen=True)
class Failure:
    """A run that did not end well: why, and where the rest is."""

    run: Run
    reason: str
    log: Path | None = None


@dataclass
class Running:
    """A run that is under way."""

    run: Run
    folder: Path
    log: Path
    future: Future[str | None]
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
    runs: Sequence[Run],
    places: Places,
    executor: Executor,
    watcher: Watcher,
    hopeless: Callable[[Running], bool] = lambda _: False,
    worker: str = WORKER,
) -> list[Failure]:
    """Do all runs, as many at a time as the executor takes, and return those that failed.

    A run that is found ``hopeless`` while it is under way is ended, which is no failure. ``worker`` does one.
    """
    waiting, failures = _resolvable(runs, watcher)
    running: list[Running] = []
    with _interrupted_by_signals():
        while waiting or running:
            while len(running) < executor.slots and (run := _next(waiting, running, places.runs)) is not None:
                waiting.remove(run)
                running.append(_start(run, places, executor, worker))
                watcher.started(running[-1])
            for ended in [each for each in running if each.future.done()]:
                running.remove(ended)
                if (reason := ended.future.result()) is None:
                    watcher.finished(ended)
                else:
                    failures.append(Failure(ended.run, reason, ended.log))
                    watcher.failed(failures[-1])
            for each in [each for each in running if hopeless(each)]:
                running.remove(each)
                executor.cancel(each.future)
            watcher.tick(running, waiting)
            wait([each.future for each in running], POLL_SECONDS, FIRST_COMPLETED)
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


def _start(run: Run, places: Places, executor: Executor, worker: str) -> Running:
    folder = folder_for(run, places.runs).absolute()
    stage = trained_stage_for(run, places.runs.absolute())
    job = Job(run.row, run.seed, folder, stage, places.results.absolute(), executor.slots)
    work = Work(worker, job.to_json(), folder / f"{run.name}.log", gpu=run.recipe.device.startswith("cuda"))
    if places.data is not None:
        work.environment["PERMPARSE_DATA"] = str(places.data.absolute())
    return Running(run, folder, work.log, executor.submit(work), time.monotonic())


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Let a signal to end, or a closed terminal, be what Ctrl-C is."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as under nohup, which means a closed terminal to be survived
                signal.signal(number, interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
