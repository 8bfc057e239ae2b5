"""Pictures in HTML: for a notebook, and as files that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from permparse.drawing.paper import MONO, PLAIN, printable

PAGE = f"""
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 {PLAIN}; margin: 2rem; }}
figure {{ margin: 0 0 2.5rem; }}
"""
OUTPUT = f"font-family:{MONO};font-size:0.9em;white-space:pre-wrap;margin:0.6em 0 0.2em".replace('"', "'")
SOFT = "font-size:0.85em;opacity:0.75"


def parse_html(picture: str, output: str, facts: Sequence[str], alternatives: Sequence[tuple[float, str]] = ()) -> str:
    """A picture, its output, facts about it and other outputs with their confidence."""
    lines = [
        f'<figure style="overflow-x:auto">{picture}',
        f'<div style="{OUTPUT}">{_text(output or "(empty)")}</div>',
        f'<figcaption style="{SOFT}">{_text(" · ".join(facts))}</figcaption>',
    ]
    if alternatives:
        items = "".join(f"<li>{confidence:.1%} <code>{_text(other)}</code></li>" for confidence, other in alternatives)
        lines.append(f'<ol style="{SOFT}">{items}</ol>')
    return "\n".join([*lines, "</figure>\n"])


def standalone(title: str, parts: Sequence[str]) -> str:
    """A page of its own that needs nothing else."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{_text(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{PAGE}</style></head>\n'
        f"<body>\n<main>\n<h1>{_text(title)}</h1>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


def _text(content: str) -> str:
    return escape(printable(content))
