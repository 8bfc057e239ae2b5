"""A parse as a picture: words, their multisets as chips below them, and the jumps as arcs from chip to chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from permparse.drawing.paper import colours, stroke, svg, text, width_of

WORD_SIZE, CHIP_SIZE, PLACE_SIZE = 15, 12, 9
CHIP_HEIGHT, CHIP_GAP, COLUMN_GAP = 22, 6, 14
TOP, MARGIN, DEEPEST = 24, 12, 150
END = "<end>"


@dataclass(frozen=True)
class Chip:
    """A token of a multiset where it is drawn."""

    token: str
    word: int
    place: int
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + CHIP_HEIGHT


@dataclass(frozen=True)
class JumpPicture:
    """Everything that is drawn, laid out: chips in output order."""

    words: Sequence[str]
    columns: Sequence[float]
    chips: Sequence[Chip]
    width: float
    edge: float

    @property
    def height(self) -> float:
        """The lowest point of the deepest arc, and a margin."""
        depths = [self._depth(a, b) for a, b in pairwise(self.chips) if a.word != b.word]
        return self.edge + max([0.0, *depths]) + MARGIN

    def svg(self, title: str, adaptive: bool = False) -> str:
        """The picture as SVG; see `paper.svg`."""
        body = [self._jump(a, b) for a, b in pairwise(self.chips)]
        for number, (word, middle) in enumerate(zip(self.words, self.columns, strict=True)):
            shown = "end" if word == END else word
            kind = "soft" if word == END else "word"
            body.append(text(middle, TOP - 6, shown, kind, WORD_SIZE, extra=' font-weight="600"'))
            if not any(chip.word == number for chip in self.chips):
                body.append(text(middle, TOP + 18, "∅", "soft", CHIP_SIZE))
        body += [_chip(chip) for chip in self.chips]
        return svg(self.width, self.height, title, body, adaptive)

    def _depth(self, a: Chip, b: Chip) -> float:
        return max(14.0, DEEPEST * min(1.0, sqrt(abs(a.middle - b.middle) / max(self.width, 400.0))))

    def _jump(self, a: Chip, b: Chip) -> str:
        colour = stroke(a.word)
        if a.word == b.word:
            side = max(a.x + a.width, b.x + b.width) + 10
            y1, y2 = a.y + CHIP_HEIGHT / 2, b.y + CHIP_HEIGHT / 2
            x1, x2 = a.x + a.width, b.x + b.width
            line = f"M{x1:.1f},{y1:.1f} C{side:.1f},{y1:.1f} {side:.1f},{y2:.1f} {x2 + 4:.1f},{y2:.1f}"
            head = f"M{x2:.1f},{y2:.1f} l5,-3 v6 z"
        else:
            lean = 5 if b.middle > a.middle else -5
            x1, x2, deep = a.middle + lean, b.middle - lean, self.edge + 4 / 3 * self._depth(a, b) - 10
            line = f"M{x1:.1f},{a.bottom:.1f} C{x1:.1f},{deep:.1f} {x2:.1f},{deep:.1f} {x2:.1f},{b.bottom + 5:.1f}"
            head = f"M{x2:.1f},{b.bottom:.1f} l-3.5,6 h7 z"
        return f'<path class="line" d="{line}" stroke="{colour}"/><path d="{head}" fill="{colour}"/>'


def jump_picture(words: Sequence[str], multisets: Sequence[Sequence[str]], order: Sequence[int]) -> JumpPicture:
    """Lay out a parse. ``order[j]`` is the number, in canonical order, of the token at output position j."""
    place = {token: j for j, token in enumerate(order)}
    chips: list[Chip] = []
    columns: list[float] = []
    x = float(MARGIN)
    for number, (word, multiset) in enumerate(zip(words, multisets, strict=True)):
        first = len(chips)
        widths = [_chip_width(token, place[first + k]) for k, token in enumerate(multiset)]
        column = max([width_of(word, WORD_SIZE), 20.0, *widths])
        for k, (token, width) in enumerate(zip(multiset, widths, strict=True)):
            y = TOP + 6 + k * (CHIP_HEIGHT + CHIP_GAP)
            chips.append(Chip(token, number, place[first + k], x + (column - width) / 2, y, width))
        columns.append(x + column / 2)
        x += column + COLUMN_GAP
    edge = max([TOP + CHIP_HEIGHT + 6.0, *(chip.bottom for chip in chips)])
    return JumpPicture(words, columns, [chips[token] for token in order], x - COLUMN_GAP + MARGIN, edge)


def _chip_width(token: str, place: int) -> float:
    return width_of(token, CHIP_SIZE, mono=True) + width_of(str(place + 1), PLACE_SIZE, mono=True) + 16


def _chip(chip: Chip) -> str:
    fill, border, ink = colours(chip.word)
    style = f' style="fill:{ink}"'
    box = (
        f'<rect x="{chip.x:.1f}" y="{chip.y:.1f}" width="{chip.width:.1f}" height="{CHIP_HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="{border}"/>'
    )
    token = text(chip.x + 6, chip.y + 15, chip.token, "token", CHIP_SIZE, "start", style)
    number = text(chip.x + chip.width - 5, chip.y + 17.5, str(chip.place + 1), "token", PLACE_SIZE, "end", style)
    return box + token + number
