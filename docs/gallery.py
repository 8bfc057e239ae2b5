"""Draw the pictures of docs/gallery.md with the parser in the box: `python docs/gallery.py`."""

from __future__ import annotations

from pathlib import Path

from permparse import Parser
from permparse.drawing import heat_map

IMAGES = Path(__file__).parent / "images"
SENTENCES = {
    "give": "Ines gave a bell to Dora .",
    "passive": "a basket was offered to Anton by the painter .",
    "deep": "Hugo said that Yara claimed that Linus noticed that Ines knew that a singer slept .",
    "places": "Greta watched a hat in a harbour under a garden near the kitchen behind a bridge .",
}


def draw(folder: Path = IMAGES) -> None:
    """Write every picture of the gallery into a folder."""
    parser = Parser.load("fragment")
    for name, sentence in SENTENCES.items():
        (folder / f"gallery-{name}.svg").write_text(parser.parse(sentence).to_svg(), encoding="utf-8")
    parse = parser.parse(SENTENCES["give"])
    explained = parser.explain(parse)
    assert explained is not None
    tokens = [token for multiset in parse.multisets for token in multiset]
    positions = [f"{j + 1} {token}" for j, token in enumerate(parse.tokens)]
    picture = heat_map("U*: token (row) at output position (column)", explained.u, tokens, positions)
    (folder / "gallery-u.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    draw()
