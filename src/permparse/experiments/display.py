"""What a person sees while runs go on: which is running and how far, which is done or failed, how long it will take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.live import Live
from rich.table import Table

from permparse.base.console import err, note
from permparse.executors import Executor
from permparse.experiments.plan import Known, Run
from permparse.experiments.runner import Failure, Running


class Display:
    """A line for everything that ends, and on a terminal a live table of what is under way."""

    def __init__(self, total: int, executor: Executor, known: Known) -> None:
        self._total, self._executor, self._known = total, executor, known
        self._done = self._failed = 0
        self._seconds: dict[str, list[float]] = {}
        self._live = Live(console=err, transient=True, refresh_per_second=2) if err.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, running: Running) -> None:
        if self._live is None:
            note("[dim]started {name} in {folder}[/]", name=running.run.name, folder=running.folder)

    def finished(self, running: Running) -> None:
        self._done += 1
        self._seconds.setdefault(running.run.row.name, []).append(running.seconds)
        clock, count = _clock(running.seconds), self._count()
        note("[green]done[/]    {name} [dim]{clock} {count}[/]", name=running.run.name, clock=clock, count=count)

    def failed(self, failure: Failure) -> None:
        self._failed += 1
        where = f"({failure.log}) " if failure.log else ""
        note(
            "[red]failed[/]  {name}: {reason} [dim]{where}{count}[/]",
            name=failure.run.name,
            reason=failure.reason,
            where=where,
            count=self._count(),
        )

    def pruned(self, running: Running) -> None:
        note("[dim]pruned[/]  {name} [dim]{how}[/]", name=running.run.name, how=progress(running))

    def tick(self, running: Sequence[Running], waiting: Sequence[Run]) -> None:
        if self._live is None:
            return
        table = Table(box=None, pad_edge=False, show_header=False)
        for style in ("bold", "", "dim", "dim"):
            table.add_column(style=style)
        for each in running:
            table.add_row("running", each.run.name, progress(each), _clock(each.seconds))
        table.add_row("waiting", f"{len(waiting)} runs", self.time_left(running, waiting), "")
        self._live.update(table)

    def _count(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        return f"({self._done} of {self._total}{failed})"

    def time_left(self, running: Sequence[Running], waiting: Sequence[Run]) -> str:
        usual = [self._usual(run) for run in (*(r.run for r in running), *waiting)]
        if not usual or None in usual:
            return ""
        left = sum(seconds for seconds in usual if seconds is not None) - sum(r.seconds for r in running)
        return f"about {_clock(max(0.0, left) / self._executor.slots)} left"

    def _usual(self, run: Run) -> float | None:
        """How long such a run takes: by runs of the same row, now or earlier, or else by all that ended now."""
        name = run.row.name
        earlier = [
            record.seconds + sum(e.seconds for e in record.evaluations.values())
            for record in self._known.records
            if record.row == name
        ]
        every = [s for seconds in self._seconds.values() for s in seconds]
        for seconds in (self._seconds.get(name, []), earlier, every):
            if seconds:
                return sum(seconds) / len(seconds)
        return None


def progress(running: Running) -> str:
    """How far a run is, by the last line of its log."""
    try:
        last = (running.folder / "log.jsonl").read_text(encoding="utf-8").rstrip().rsplit("\n", 1)[-1]
        event = json.loads(last)
    except (OSError, ValueError):
        return "starting"
    if event["event"] == "epoch":
        epochs = running.run.recipe.stage_training(event["stage"]).epochs
        return f"{event['stage']}: {event['epoch']} of {epochs} epochs"
    if event["event"] == "stage":
        return f"{event['stage']}: first epoch"
    return "evaluating" if event["event"] == "finished" else "training"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"
