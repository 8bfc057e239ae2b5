"""A matrix of weights between 0 and 1 as a heat map with named rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

from permparse.drawing.paper import svg, text, width_of

CELL, NAME_SIZE, TITLE_SIZE, MARGIN = 16, 10, 13, 8
LONGEST = 14
EMPTY, FULL = (238, 240, 238), (31, 95, 151)


def heat_map(
    title: str,
    matrix: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    adaptive: bool = False,
) -> str:
    """The heat map as SVG; every cell tells its weight when pointed at. The colour grows with the square root, so that
    small weights show."""
    left = MARGIN + max([0.0, *(width_of(_short(name), NAME_SIZE, mono=True) for name in rows)]) + 6
    top = MARGIN + TITLE_SIZE + max([0.0, *(width_of(_short(name), NAME_SIZE, mono=True) for name in columns)]) + 12
    body = [text(MARGIN, MARGIN + TITLE_SIZE - 2, title, "word", TITLE_SIZE, "start", ' font-weight="600"')]
    for j, name in enumerate(columns):
        x, y = left + CELL * j + CELL / 2 + 3.5, top - 5
        turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"'
        body.append(text(x, y, _short(name), "name soft", NAME_SIZE, "start", turned))
    for i, (name, weights) in enumerate(zip(rows, matrix, strict=True)):
        body.append(text(left - 6, top + CELL * i + CELL / 2 + 3.5, _short(name), "name soft", NAME_SIZE, "end"))
        body += [
            f'<rect x="{left + CELL * j:.1f}" y="{top + CELL * i:.1f}" width="{CELL - 1}" height="{CELL - 1}" rx="2" '
            f'fill="{_colour(weight)}"><title>{weight:.3f}</title></rect>'
            for j, weight in enumerate(weights)
        ]
    width = max(left + CELL * len(columns), width_of(title, TITLE_SIZE) + MARGIN) + MARGIN
    return svg(width, top + CELL * len(rows) + MARGIN, title, body, adaptive)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _colour(weight: float) -> str:
    share = sqrt(min(1.0, max(0.0, weight))) if isfinite(weight) else 0.0
    return "#" + "".join(f"{round(low + share * (high - low)):02x}" for low, high in zip(EMPTY, FULL, strict=True))
