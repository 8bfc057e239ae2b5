"""How fast trained parsers parse on one thread: sentences per CPU second in batches, milliseconds for a single one.

    python benchmarks/parsing_speed.py runs/cogs data/cogs/test.tsv [RUN FILE ...]
    ... --output results/bench_parsing_speed.json

Runs and files come in pairs; of a file the first column is parsed. CPU time, since other processes may want the cores;
medians of several rounds in one process, in turns over the pairs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from rich.table import Table

from permparse import Parser
from permparse.base.batching import spread
from permparse.base.console import out
from permparse.base.provenance import Provenance

ROUNDS, SINGLE = 5, 200


@dataclass
class Load:
    """A parser and what it is given; sentences per second and median milliseconds of single ones, by round."""

    parser: Parser
    name: str
    sentences: list[str]
    rates: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def measure(self) -> None:
        begin = time.process_time()
        self.parser.parse_each(self.sentences)
        self.rates.append(len(self.sentences) / (time.process_time() - begin))
        singles = []
        for at in spread(len(self.sentences), SINGLE):
            begin = time.process_time()
            self.parser.parse_each([self.sentences[at]])
            singles.append(1000 * (time.process_time() - begin))
        self.milliseconds.append(statistics.median(singles))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pairs", nargs="+", type=Path, metavar="RUN FILE")
    options.add_argument("--limit", type=int, default=3000, help="sentences of a file at most, evenly spread")
    options.add_argument("--output", type=Path, help="write the figures to this JSON file")
    arguments = options.parse_args()
    if len(arguments.pairs) % 2:
        options.error("expected pairs of a run and a file")
    torch.set_num_threads(1)
    loads = []
    for run, file in zip(arguments.pairs[::2], arguments.pairs[1::2], strict=True):
        lines = [line.split("\t")[0] for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        sentences = [lines[i] for i in spread(len(lines), arguments.limit)]
        load = Load(Parser.load(run), f"{run.name}, {file.parent.name}/{file.name}", sentences)
        load.parser.parse_each(sentences)  # compiles what it needs
        loads.append(load)
    for _ in range(ROUNDS):
        for load in loads:
            load.measure()
    table = Table("parser, file", "sentences", "per second", "best", "one alone, ms", box=None, header_style="bold")
    rows = []
    for load in loads:
        rate, alone = statistics.median(load.rates), statistics.median(load.milliseconds)
        table.add_row(load.name, f"{len(load.sentences):,}", f"{rate:,.0f}", f"{max(load.rates):,.0f}", f"{alone:.2f}")
        rows.append({"load": load.name, "sentences": len(load.sentences), "per_second": round(rate, 1)})
        rows[-1] |= {"best_per_second": round(max(load.rates), 1), "single_ms": round(alone, 2)}
    out.print(table)
    if arguments.output:
        arguments.output.write_text(json.dumps({"loads": rows, **asdict(Provenance())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
