"""Which part of the package imports which: printed as text and drawn as docs/images/imports.svg.

Read from the source by `ast`, so nothing is imported. Run it after moving code: `python docs/import_graph.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "permparse"
PICTURE = ROOT / "docs" / "images" / "imports.svg"

PARTS = {
    "cli": "one file per command",
    "service": "the page and POST /parse",
    "integrations": "spaCy component",
    "experiments": "tables, figures, tuning",
    "bulk": "files of millions of lines",
    "executors": "processes, Ray",
    "training": "loop, runs, resuming",
    "evaluation": "scores and kinds of errors",
    "parsers": "interface, recipes, tag and order",
    "nn": "encoders, tagger, jump scorer",
    "tasks": "files, outputs, metrics",
    "permutation": "relaxed permutations, decoding",
    "multiset": "probabilities of counts",
    "drawing": "pictures as SVG and HTML",
    "text": "words, lexicon, aligner",
    "base": "errors, settings, storage, plugins",
}
"""Every part and what it is for, in the order in which parts of one layer stand side by side."""
COLOURS = {
    **dict.fromkeys(("permutation", "multiset"), "maths"),
    "nn": "networks",
    **dict.fromkeys(("text", "tasks"), "words"),
    "parsers": "parsers",
}
"""The class of a box in the picture; "plain" if it has none."""

Graph = dict[str, set[str]]
"""Part → the parts that it imports."""

WIDTH, HEIGHT = 212, 48
COLUMN, LAYER = 238, 86
MARGIN = 12

STYLE = """
    text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; text-anchor: middle; }
    .name { font-size: 15px; font-weight: 600; fill: #1f2328; }
    .what { font-size: 11.5px; fill: #59636e; }
    rect { stroke-width: 1.25; }
    .plain { fill: #f6f8fa; stroke: #b7bfc8; }
    .parsers { fill: #fff4d6; stroke: #d4a72c; }
    .networks { fill: #fde8e1; stroke: #d98b73; }
    .maths { fill: #e3f0fd; stroke: #6fa8dc; }
    .words { fill: #e4f4e6; stroke: #74b281; }
    .import { fill: none; stroke: #8c959f; stroke-width: 1.4; }
    .tip { fill: #8c959f; }
    @media (prefers-color-scheme: dark) {
      .name { fill: #f0f6fc; }
      .what { fill: #a8b3bf; }
      .plain { fill: #21262d; stroke: #4d5661; }
      .parsers { fill: #3a300f; stroke: #a5842a; }
      .networks { fill: #40241b; stroke: #a8624b; }
      .maths { fill: #132c44; stroke: #3f79b0; }
      .words { fill: #16321f; stroke: #478a57; }
      .import { stroke: #6e7681; }
      .tip { fill: #6e7681; }
    }"""


def read_graph(source: Path = SOURCE) -> Graph:
    """The imports between parts, wherever in a file they stand; the files beside the folders are not parts."""
    graph: Graph = {part: set() for part in PARTS}
    for folder in sorted(path.parent for path in source.glob("*/__init__.py")):
        if folder.name not in graph:
            raise SystemExit(f"{folder.name}: say in PARTS of docs/import_graph.py what this part is for")
        for path in folder.rglob("*.py"):
            graph[folder.name] |= set(_imported_parts(path)) & set(PARTS) - {folder.name}
    return graph


def _imported_parts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for package, part, *_ in (name.split(".") for name in names if "." in name):
            if package == "permparse":
                yield part


def as_text(graph: Graph) -> str:
    """One line per part with all that it imports, top layer first."""
    width = max(map(len, graph))
    lines = []
    for layer in layers(graph):
        for part in layer:
            used = ", ".join(other for other in PARTS if other in graph[part])
            lines.append(f"{part:<{width}}  imports {used or 'nothing'}")
    return "\n".join(lines)


def layers(graph: Graph) -> list[list[str]]:
    """The parts by their distance from the top, so that every import points down; SystemExit if imports run in a
    circle."""

    @cache
    def depth(part: str) -> int:
        return max((1 + depth(user) for user, used in graph.items() if part in used), default=0)

    try:
        rows: list[list[str]] = [[] for _ in range(1 + max(map(depth, graph)))]
    except RecursionError:
        raise SystemExit("imports between parts run in a circle") from None
    for part in PARTS:
        rows[depth(part)].append(part)
    return rows


def reduced(graph: Graph) -> Graph:
    """The graph without the imports that a path over other parts implies."""

    @cache
    def below(part: str) -> frozenset[str]:
        return frozenset(graph[part]).union(*(below(used) for used in graph[part]))

    return {part: used - set().union(*(below(other) for other in used)) for part, used in graph.items()}


def columns(rows: list[list[str]], drawn: Graph) -> dict[str, float]:
    """Where each part stands from left to right: the widest layer evenly, above it parts over what they import, below
    it parts under what imports them."""
    widest = max(range(len(rows)), key=lambda number: len(rows[number]))
    place = {part: float(column) for column, part in enumerate(rows[widest])}
    users = {part: {user for user, used in drawn.items() if part in used} for part in drawn}
    above, below = list(range(widest))[::-1], list(range(widest + 1, len(rows)))
    for number, neighbours in [(n, drawn) for n in above] + [(n, users) for n in below]:
        row = rows[number]
        centre = (len(rows[widest]) - 1) / 2
        wanted = [mean([place[other] for other in neighbours[part] if other in place] or [centre]) for part in row]
        taken: list[float] = []
        for column in wanted:
            taken.append(max(column, taken[-1] + 1) if taken else column)
        shift = mean(wanted) - mean(taken)
        place |= {part: column + shift for part, column in zip(row, taken, strict=True)}
    leftmost = min(place.values())
    return {part: column - leftmost for part, column in place.items()}


def as_svg(graph: Graph) -> str:
    """The picture: layered boxes, and an arrow for every import that no other path implies."""
    rows, drawn = layers(graph), reduced(graph)
    column = columns(rows, drawn)
    x = {part: MARGIN + WIDTH / 2 + COLUMN * column[part] for part in graph}
    y = {part: float(MARGIN + LAYER * number) for number, row in enumerate(rows) for part in row}
    width = round(2 * MARGIN + WIDTH + COLUMN * max(column.values()))
    height = 2 * MARGIN + HEIGHT + LAYER * (len(rows) - 1)
    arrows = [_arrow(a, b, rows, x, y) for a in PARTS for b in PARTS if b in drawn[a]]
    boxes = [_box(part, x[part], y[part]) for part in PARTS]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="Which part of permparse imports which">',
            f"  <style>{STYLE}\n  </style>",
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def _arrow(user: str, used: str, rows: list[list[str]], x: dict[str, float], y: dict[str, float]) -> str:
    """A curve from box to box, through the gaps between the boxes of the layers that it crosses."""
    at, height = x[user], y[user] + HEIGHT
    curve = f"M{at:g} {height:g}"
    for row in rows:
        top = y[row[0]]
        if y[user] < top < y[used]:
            gap = min(_gaps([x[part] for part in row]), key=lambda gap: (abs(gap - at) + abs(gap - x[used]), gap))
            curve += _bend(at, height, gap, top) + f"V{top + HEIGHT:g}"
            at, height = gap, top + HEIGHT
    end = y[used] - 8
    curve += _bend(at, height, x[used], end)
    tip = f"M{x[used] - 4.5:g} {end - 1:g}h9L{x[used]:g} {y[used] - 1:g}Z"
    return f'  <path class="import" d="{curve}"/><path class="tip" d="{tip}"/>'


def _gaps(centres: list[float]) -> list[float]:
    """Between the boxes of a layer, and on either side of them."""
    beside = COLUMN / 2
    return [centres[0] - beside, *((a + b) / 2 for a, b in pairwise(centres)), centres[-1] + beside]


def _bend(x1: float, y1: float, x2: float, y2: float) -> str:
    """A curve that begins and ends vertically."""
    bend = (y2 - y1) * 0.6
    return f"C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"


def _box(part: str, x: float, y: float) -> str:
    box = f'<rect class="{COLOURS.get(part, "plain")}" x="{x - WIDTH / 2:g}" y="{y:g}" width="{WIDTH}" '
    box += f'height="{HEIGHT}" rx="9"/>'
    name = f'<text class="name" x="{x:g}" y="{y + 20:g}">{escape(part)}</text>'
    what = f'<text class="what" x="{x:g}" y="{y + 37:g}">{escape(PARTS[part])}</text>'
    return f"  {box}{name}{what}"


if __name__ == "__main__":
    found = read_graph()
    PICTURE.write_text(as_svg(found), encoding="utf-8")
    print(as_text(found))
