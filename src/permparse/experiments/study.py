"""What a study is: configurations to train with several seeds, and the table, perhaps a figure, that shows them."""

from __future__ import annotations

from dataclasses import dataclass

from permparse.experiments.measures import Measure
from permparse.experiments.published import Number


@dataclass(frozen=True)
class Row:
    """A configuration: a recipe with some settings changed, and the splits it is evaluated on."""

    name: str
    recipe: str
    overrides: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Cell:
    """A number of ours: what to read from the records of a row. ``mark`` is printed behind it."""

    row: Row
    measure: Measure
    mark: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a table: cells of ours, published figures, words, or nothing."""

    label: str
    cells: tuple[Cell | Number | str | None, ...]

    @property
    def rows(self) -> list[Row]:
        """The configurations it shows, each once."""
        return list(dict.fromkeys(cell.row for cell in self.cells if isinstance(cell, Cell)))


@dataclass(frozen=True)
class Axes:
    """What the axes of a figure say; the columns of the table are its x axis."""

    x: str
    y: str


@dataclass(frozen=True)
class Study:
    """One table, and perhaps a figure of it. ``costs`` adds columns with minutes and parameters."""

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    note: str = ""
    seeds: int = 5
    costs: bool = True
    figure: Axes | None = None

    @property
    def rows(self) -> list[Row]:
        """What has to be trained for it."""
        return list(dict.fromkeys(row for line in self.lines for row in line.rows))
