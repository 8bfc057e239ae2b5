"""What all pictures share: how wide a text is about, colours that tell words apart, and styles for light and dark."""

from __future__ import annotations

import itertools
from html import escape

PLAIN = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
MONO = 'ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace'
MONO_WIDTH, PLAIN_WIDTH = 0.61, 0.6
"""Width of a character in ems: exact for a monospaced font, on the wide side for others."""
GOLDEN = 137.508

STYLE = f"""
.permparse text {{ font-family: {PLAIN}; fill: #1d2329; }}
.permparse .token, .permparse .name {{ font-family: {MONO}; }}
.permparse .soft {{ fill: #59626c; }}
.permparse .line {{ fill: none; stroke-width: 1.4; }}
@media (prefers-color-scheme: dark) {{
  .permparse.adaptive text {{ fill: #e8eaed; }}
  .permparse.adaptive .soft {{ fill: #a4adb8; }}
}}"""
_numbers = itertools.count(1)


def colours(word: int) -> tuple[str, str, str]:
    """Fill, border and ink of the chips of a word; hues a golden angle apart, so neighbours never look alike."""
    hue = round((215 + GOLDEN * word) % 360)
    return f"hsl({hue} 60% 94%)", f"hsl({hue} 42% 72%)", f"hsl({hue} 60% 24%)"


def stroke(word: int) -> str:
    """The colour of a jump that leaves a word."""
    return f"hsl({round((215 + GOLDEN * word) % 360)} 40% 60%)"


def width_of(text: str, size: float, mono: bool = False) -> float:
    """About how wide a text is; wide characters count twice."""
    columns = sum(2 if ord(sign) > 0x2E7F else 1 for sign in text)
    return columns * size * (MONO_WIDTH if mono else PLAIN_WIDTH)


def text(x: float, y: float, content: str, kind: str, size: float, anchor: str = "middle", extra: str = "") -> str:
    """One text element."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" font-size="{size:g}" text-anchor="{anchor}"{extra}>'
        f"{escape(printable(content))}</text>"
    )


def svg(width: float, height: float, title: str, body: list[str], adaptive: bool = False) -> str:
    """A whole picture. ``adaptive`` lets its texts follow the colour scheme of the page that it is part of."""
    name = f"permparse-{next(_numbers)}" if adaptive else "permparse-title"
    kind = "permparse adaptive" if adaptive else "permparse"
    ground = "" if adaptive else f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>\n'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="{name}">\n'
        f'<title id="{name}">{escape(printable(title))}</title>\n<style>{STYLE}\n</style>\n{ground}'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def printable(content: str) -> str:
    """Text without the characters that XML forbids."""
    return "".join(sign if _is_xml(ord(sign)) else "�" for sign in content)


def _is_xml(code: int) -> bool:
    return code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
