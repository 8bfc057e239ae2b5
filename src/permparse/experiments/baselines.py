"""Rows for what one would use instead of ours: sequence-to-sequence parsers, each by a recipe of its own.

A baseline of a row is the recipe KIND-NAME of the same task; where there is none, there is no line.
"""

from __future__ import annotations

from collections.abc import Sequence

from permparse.experiments.measures import Measure, accuracy
from permparse.experiments.study import Cell, Line, Row
from permparse.parsers.recipe import recipe_names

LABELS = {
    "lstm": "LSTM with attention, our code; the paper's notation",
    "transformer": "Transformer with relative positions, our code; the paper's notation",
    "permuter": "our tagger, then a permuting Transformer; the paper's notation",
}


def baseline(kind: str, row: Row) -> Row | None:
    """The baseline of a kind on the task of a row."""
    recipe = f"{kind}-{row.recipe}"
    return Row(f"{kind}-{row.name}", recipe, splits=row.splits) if recipe in recipe_names() else None


def _line(kind: str, cells: Sequence[tuple[Row, Measure]]) -> Line | None:
    rows = [(baseline(kind, row), measure) for row, measure in cells]
    found = tuple(None if row is None else Cell(row, measure) for row, measure in rows)
    return Line(LABELS[kind], found) if any(found) else None


def across(rows: Sequence[Row]) -> list[Line]:
    """A line per baseline with one column per task, by its main metric."""
    lines = (_line(kind, [(row, accuracy()) for row in rows]) for kind in LABELS)
    return [line for line in lines if line is not None]


def measured(row: Row, measures: Sequence[Measure]) -> list[Line]:
    """A line per baseline of one row with one column per measure."""
    lines = (_line(kind, [(row, measure) for measure in measures]) for kind in LABELS)
    return [line for line in lines if line is not None]
