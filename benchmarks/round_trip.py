"""What a notation learned from training pairs makes of test outputs: do they come back exactly, and how short are they?

    python benchmarks/round_trip.py ../data --output results/bench_round_trip.json

The folder is that of own_files.py, with doubling/ beside the others. For every file: seconds of CPU time to learn the
notation, tokens per test output before and after, the share of outputs that need an exception (a token kept where the
rules would insert another), and the share that is restored to the byte.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from own_files import FILES, File
from permparse.base.provenance import Provenance
from permparse.tasks import get_task
from permparse.text import Writing

DOUBLING = File("doubling", "doubling/train.tsv", "doubling/dev.tsv", "doubling/test.tsv", "tsv", "exact")
LEVELS = ("full", "ends")


@dataclass(frozen=True)
class Figures:
    """What one notation does to the test outputs of one file."""

    file: str
    level: str
    training_outputs: int
    seconds: float
    test_outputs: int
    tokens_before: float
    tokens_after: float
    exceptions: float
    restored: float


def measure(file: File, data: Path, level: str) -> Figures:
    """Learn from the training file, shorten and restore the test file."""
    task = get_task("tsv", train=str(data / file.train), dev=str(data / file.dev))
    pairs = [(example.source, example.output) for example in task.load("train")]
    outputs = [example.output for example in task.load(str(data / file.test))]
    start = time.process_time()
    writing = Writing.learn(level, task, task.raw_outputs, pairs)
    seconds = time.process_time() - start
    short = [writing.shorten(output) for output in outputs]
    right = [writing.restore(tokens) == output for tokens, output in zip(short, outputs, strict=True)]
    count = len(outputs)
    return Figures(
        file.name,
        level,
        len(pairs),
        round(seconds, 1),
        count,
        round(sum(len(writing.cutter.shorten(output)) for output in outputs) / count, 1),
        round(sum(map(len, short)) / count, 1),
        round(writing.exceptional(outputs), 4),
        sum(right) / count,
    )


def table(rows: Sequence[Figures]) -> list[str]:
    """The figures in Markdown."""
    lines = ["| file | notation | learned in s | tokens | exceptions, % | restored, % |", "|---|---|---|---|---|---|"]
    for row in rows:
        tokens = f"{row.tokens_before} → {row.tokens_after}"
        shares = f"{100 * row.exceptions:.1f} | {100 * row.restored:.2f}"
        lines.append(f"| {row.file} | {row.level} | {row.seconds} | {tokens} | {shares} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the files")
    parser.add_argument("--output", type=Path, help="write the figures as JSON")
    chosen = parser.parse_args()
    rows = [measure(file, chosen.data.absolute(), level) for file in (*FILES, DOUBLING) for level in LEVELS]
    print("\n".join(table(rows)))
    if chosen.output:
        found = {**asdict(Provenance()), "files": [asdict(row) for row in rows]}
        chosen.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
