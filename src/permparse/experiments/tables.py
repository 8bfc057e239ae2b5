"""Records to tables: mean ± sample standard deviation over seeds, beside what others report."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from permparse.experiments.measures import Measure, minutes, parameters
from permparse.experiments.plan import Known
from permparse.experiments.study import Cell, Line, Row, Study

MISSING = "–"
COSTS = ("seeds", "minutes", "parameters (M)")


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation of n values; no deviation with a single one."""

    n: int
    mean: float
    std: float | None


@dataclass(frozen=True)
class Table:
    """Strings ready to print: the first column is the label of the line."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---", *("---:" for _ in self.header[1:])]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in (self.header, rule, *self.rows))


def summarise(values: Sequence[float]) -> Summary | None:
    """Mean and sample standard deviation (n - 1) of some values, None of none."""
    if not values:
        return None
    return Summary(len(values), statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


def build(study: Study, known: Known) -> Table:
    """The table of a study from the records there are."""
    header = ("", *study.columns, *(COSTS if study.costs else ("seeds",)))
    return Table(study.title, header, tuple(_row(study, line, known) for line in study.lines), study.note)


def values(row: Row, measure: Measure, known: Known) -> list[float]:
    """What the records of a row say, one value a seed."""
    read = (measure.read(record) for record in known.of_row(row))
    return [value for value in read if value is not None]


def _row(study: Study, line: Line, known: Known) -> tuple[str, ...]:
    cells = [_text(cell, known) for cell in line.cells]
    if study.costs:
        costs = [_seeds(line, known), _joined(line, minutes(), known), _joined(line, parameters(), known)]
    else:
        costs = [_seeds(line, known)]
    return (line.label, *cells, *costs)


def _text(cell: object, known: Known) -> str:
    if cell is None:
        return MISSING
    if isinstance(cell, Cell):
        shown = _shown(summarise(values(cell.row, cell.measure, known)), cell.measure)
        return shown + cell.mark if shown != MISSING else shown
    return str(cell)


def _shown(summary: Summary | None, measure: Measure) -> str:
    if summary is None:
        return MISSING
    mean = f"{summary.mean:.{measure.digits}f}"
    return mean if summary.std is None or not measure.varies else f"{mean} ± {summary.std:.{measure.digits}f}"


def _seeds(line: Line, known: Known) -> str:
    counts = [str(len(known.of_row(row))) for row in line.rows]
    return " / ".join(counts if len(set(counts)) > 1 else counts[:1]) if line.rows else ""


def _joined(line: Line, measure: Measure, known: Known) -> str:
    """The mean of every row the line shows: 3.1 / 4.0 / 2.2."""
    summaries = [summarise(values(row, measure, known)) for row in line.rows]
    return " / ".join(MISSING if s is None else f"{s.mean:.{measure.digits}f}" for s in summaries)
