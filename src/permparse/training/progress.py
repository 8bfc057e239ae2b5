"""The progress bar: loss, accuracy, examples per second and time left; silent when nobody watches a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from permparse.base.console import err, note

if TYPE_CHECKING:
    from permparse.parsers.stage import Scores
    from permparse.training.loop import Position


class Speed:
    """Examples per second in the current epoch, evaluations and checkpoints between epochs aside."""

    def __init__(self) -> None:
        self._epoch = -1
        self._examples, self._seconds = 0, 0.0

    def update(self, epoch: int, examples: int, seconds: float) -> float:
        """The speed, given how many examples of the epoch are done and the seconds of training so far."""
        if epoch != self._epoch:
            self._epoch, self._examples, self._seconds = epoch, examples, seconds
        return (examples - self._examples) / max(1e-9, seconds - self._seconds)


class Progress:
    """One bar per stage and one line per epoch; ``quiet`` shows neither."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._speed = Speed()

    def start(self, stage: str, epochs: int, steps: int, done: int) -> None:
        if self._quiet or not err.is_terminal:
            return
        self._bar = Bar(
            TextColumn("[bold]{task.description}[/]"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(compact=True),
            console=err,
            transient=True,
        )
        self._epochs, self._stage, self._speed = epochs, stage, Speed()
        self._bar.add_task(stage, total=steps, completed=done, status="")
        self._bar.start()

    def update(self, position: Position) -> None:
        if self._bar is None:
            return
        accuracy = f"acc {position.right / position.decisions:6.1%}  " if position.decisions else ""
        loss = position.loss_sum / max(1, position.examples)
        speed = self._speed.update(position.epoch, position.examples, position.seconds)
        self._bar.update(
            self._bar.task_ids[0],
            completed=position.step,
            description=f"{self._stage} {position.epoch + 1}/{self._epochs}",
            status=f"loss {loss:8.4f}  {accuracy}{speed:5.0f} examples/s",
        )

    def note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], status=text)

    def epoch(
        self,
        stage: str,
        epoch: int,
        epochs: int,
        loss: float,
        accuracy: float | None,
        scores: Scores | None,
        seconds: float,
    ) -> None:
        if self._quiet:
            return
        parts = [f"[dim]{stage} {epoch:>3}/{epochs}[/]  loss {loss:.4f}"]
        if accuracy is not None:
            parts.append(f"accuracy {accuracy:.1%}")
        if scores is not None:
            parts += [
                f"{name} {value:.2f}" if name.startswith("log ") else f"{name} {value:.1%}"
                for name, value in scores.named.items()
            ]
        note("  ".join([*parts, f"[dim]{seconds:.0f} s[/]"]))

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
