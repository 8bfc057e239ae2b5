"""What a cell of a table reads from the record of a run: accuracies in percent, minutes, millions of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from permparse.evaluation.scores import GroupScore
    from permparse.experiments.records import Record, StageCost


@dataclass(frozen=True)
class Measure:
    """A number of a record, None where the record has none; how many digits of it to show, and whether seeds differ
    in it."""

    read: Callable[[Record], float | None]
    digits: int = 1
    varies: bool = True


def accuracy(metric: str | None = None, split: str = "test", group: tuple[str, str] | None = None) -> Measure:
    """% of right outputs by a metric (the main one if None) on a split, or on one of its groups: ("length", "40")."""

    def read(score: GroupScore) -> float:
        return score.metrics[metric] if metric else next(iter(score.metrics.values()))

    return _percent(split, group, read)


def freq(split: str = "test", group: tuple[str, str] | None = None) -> Measure:
    """% of right multisets."""
    return _percent(split, group, lambda score: score.freq)


def seq_given_freq(split: str = "test", group: tuple[str, str] | None = None) -> Measure:
    """% of right outputs among the right multisets."""
    return _percent(split, group, lambda score: score.seq_given_freq)


def minutes(stage: str | None = None) -> Measure:
    """Minutes of training, of one stage or of all."""
    return Measure(lambda record: _sum(record, stage, lambda cost: cost.seconds / 60))


def parameters(stage: str | None = None) -> Measure:
    """Millions of parameters, of one stage or of all."""
    return Measure(lambda record: _sum(record, stage, lambda cost: cost.parameters / 1e6), digits=2, varies=False)


def _percent(split: str, group: tuple[str, str] | None, read: Callable[[GroupScore], float | None]) -> Measure:
    def percent(record: Record) -> float | None:
        evaluation = record.evaluations.get(split)
        if evaluation is None:
            return None
        score = evaluation.groups.get(group[0], {}).get(group[1]) if group else evaluation.total
        share = None if score is None else read(score)
        return None if share is None else 100 * share

    return Measure(percent)


def _sum(record: Record, stage: str | None, read: Callable[[StageCost], float]) -> float | None:
    costs = [cost for name, cost in record.stages.items() if stage in (None, name)]
    return sum(map(read, costs)) if costs else None
