"""Figures of studies as PNG: mean over seeds with the standard deviation as error bars."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import cycle, pairwise
from pathlib import Path

from permparse.base.console import note
from permparse.base.storage import write_atomically
from permparse.evaluation.comparison import Comparison
from permparse.experiments.plan import Known
from permparse.experiments.published import Number
from permparse.experiments.study import Axes, Cell, Line, Study
from permparse.experiments.tables import summarise, values

COLOURS = ("#0b6e99", "#b8860b", "#a23b72", "#4f7942")
Point = tuple[int, float, float]


def draw(study: Study, axes: Axes, known: Known, path: Path) -> bool:
    """Draw what there is of a study; False if there is nothing of ours to draw, and no figure from earlier."""
    lines = [(line, _points(line, known)) for line in study.lines]
    if not any(points for line, points in lines if line.rows):
        return False
    try:
        import matplotlib
    except ImportError:
        note("[dim]{path} not drawn: {remedy}[/]", path=path, remedy="pip install 'permparse[plot]'")
        return path.is_file()
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, plot = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    colours = cycle(COLOURS)
    for line, points in lines:
        if not points:
            continue
        x, mean, std = zip(*_apart(points, study.columns), strict=True)
        if line.rows:
            seeds = max(len(known.of_row(row)) for row in line.rows)
            label = f"{line.label}, mean ± std of {seeds} seeds" if seeds > 1 else f"{line.label}, one seed"
            plot.errorbar(x, mean, yerr=std, fmt="o-", color=next(colours), capsize=3, label=label)
        else:
            plot.plot(x, mean, "s--", color="#888888", markersize=9, fillstyle="none", label=line.label)
    plot.set(xlabel=axes.x, ylabel=axes.y, ylim=(0, 105), title=study.title)
    plot.set_xticks(range(len(study.columns)), study.columns)
    plot.legend(loc="best", frameon=False)
    plot.spines[["top", "right"]].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, metadata={"Software": None})
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())
    return True


def draw_comparison(comparison: Comparison, path: Path) -> bool:
    """Accuracy of several parsers against the length of the output, where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        note("[dim]{path} not drawn: {remedy}[/]", path=path, remedy="pip install 'permparse[plot]'")
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, plot = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for result, colour in zip(comparison.results, cycle(COLOURS)):
        x = [float(mean) for mean in result.by_length]
        plot.plot(x, [100 * s.right for s in result.by_length.values()], "o-", color=colour, label=result.parser)
    # Before the area is shaded, which would widen it.
    left, right = plot.get_xlim()
    plot.axvspan(left, min(comparison.longest + 0.5, right), color="#e4e4e4", zorder=0)
    plot.set(xlabel="words and signs of the output (grey: lengths seen in training)", ylabel="% right")
    plot.set(xlim=(left, right), ylim=(0, 105), title=f"{comparison.data}, {comparison.split}")
    plot.legend(loc="best", frameon=False)
    plot.spines[["top", "right"]].set_visible(False)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, metadata={"Software": None})
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())
    return True


def _apart(points: Sequence[Point], columns: Sequence[str]) -> list[Point]:
    """The points with a gap where columns are not consecutive numbers, so that no line suggests what lies between."""
    spread = list(points[:1])
    for before, point in pairwise(points):
        if int(columns[point[0]]) != int(columns[before[0]]) + 1:
            spread.append((before[0], math.nan, math.nan))
        spread.append(point)
    return spread


def _points(line: Line, known: Known) -> list[Point]:
    """(number of the column, mean, standard deviation) wherever the line has a figure."""
    points = []
    for i, cell in enumerate(line.cells):
        if isinstance(cell, Number):
            points.append((i, cell.mean, cell.std or 0.0))
        elif isinstance(cell, Cell) and (summary := summarise(values(cell.row, cell.measure, known))) is not None:
            points.append((i, summary.mean, summary.std or 0.0))
    return points
