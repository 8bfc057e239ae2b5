"""Links of the pages for the site: files outside docs/ are named instead of linked, as the site does not hold them."""

from __future__ import annotations

import re

LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./|[\w./-]+\.(?:ipynb|py))[^)]*)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with such links as plain text."""
    return LINK.sub(r"\1", markdown)
