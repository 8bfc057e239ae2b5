"""What the page of `permparse serve` weighs and how soon it can be used: the median of ten visits by chromium.

    python benchmarks/page.py http://127.0.0.1:8000 --output results/bench_page.json

Needs a running service, playwright and chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from dataclasses import asdict
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from permparse.base.provenance import Provenance

VISITS = 10
WATCH = """
addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
  if (document.querySelector('.panel')) window.usable ??= performance.now();
  if (document.body.dataset.ready) window.drawn ??= performance.now();
}).observe(document.body, {attributes: true, childList: true, subtree: true}));
"""


def visit(browser: Browser, url: str) -> dict[str, float]:
    """One visit with an empty cache: times in milliseconds since the address was entered."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    answers = []
    page.on("requestfinished", lambda request: answers.append(request.sizes()))
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_selector("body[data-ready]")
    found = page.evaluate("({can_be_used_ms: window.usable, both_parses_drawn_ms: window.drawn})")
    size = sum(one["responseBodySize"] + one["responseHeadersSize"] for one in answers)
    page.context.close()
    return {"requests": len(answers), "bytes": size, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        visit(browser, arguments.url)
        visits = [visit(browser, arguments.url) for _ in range(VISITS)]
    found = {name: round(statistics.median(one[name] for one in visits), 1) for name in visits[0]}
    print(found)
    if arguments.output:
        arguments.output.write_text(json.dumps({**asdict(Provenance()), "visits": VISITS, **found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
