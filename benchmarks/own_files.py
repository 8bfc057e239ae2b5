"""Other people's files, as they are: `permparse train FILE` and nothing else, judged by the task's own metric.

    python benchmarks/own_files.py ../data --seeds 106 107 108      trains what has no record yet, then prints the table
    python benchmarks/own_files.py ../data --only okapi-email --parser lstm

The folder holds atis/, cogs/, okapi/ and own/ as the paper's authors and others publish them. Records are written by
`permparse evaluate` into results/own; a run that has one is not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RECORDS = Path(__file__).parents[1] / "results" / "own"
OURS = "multiset-permutation"


@dataclass(frozen=True)
class File:
    """A data set as a user has it: where its files lie, and by which metric of which task an output counts as right."""

    name: str
    train: str
    dev: str
    test: str
    metrics: str
    metric: str
    option: str = ""

    def record(self, parser: str, seed: int) -> Path:
        """Where the figures of a run are."""
        return RECORDS / f"{self.run(parser, seed)}-{Path(self.test).stem}.json"

    def run(self, parser: str, seed: int) -> str:
        return f"{self.name}-raw{'' if parser == OURS else f'-{parser}'}-seed{seed}"


def _okapi(domain: str) -> File:
    files = (f"okapi/{domain}/{split}.tsv" for split in ("train", "dev", "test"))
    return File(f"okapi-{domain}", *files, metrics=f"okapi-{domain}", metric="clauses")


def _atis(split: str) -> File:
    files = (f"atis/{split}_{part}.tsv" for part in ("train", "dev", "test"))
    return File(f"atis-{split}", *files, metrics=f"atis-{split}", metric="tree")


def _own(name: str, option: str = "") -> File:
    files = (f"own/{name}/{split}.tsv" for split in ("train", "dev", "test"))
    return File(name.replace("_", "-"), *files, metrics="tsv", metric="exact", option=option)


FILES = (
    _okapi("calendar"),
    _okapi("document"),
    _okapi("email"),
    _atis("iid"),
    _atis("length"),
    _own("atis_funql", "unordered=intersection or"),
    _own("atis_lambda"),
    File("cogs", "cogs/train.tsv", "cogs/dev.tsv", "cogs/gen.tsv", metrics="cogs", metric="exact"),
)


def measure(file: File, data: Path, parser: str, seed: int, runs: Path) -> None:
    """Train on one file with one seed, unless there is such a run, and write its record."""
    run = runs / file.run(parser, seed)
    chosen = [] if parser == OURS else ["--set", f"parser={parser}"]
    if not (run / "parser").is_dir():
        resume = ["--resume"] if (run / "recipe.toml").is_file() else []
        options = ["--option", f"dev={data / file.dev}", "--seed", str(seed), *chosen]
        _permparse("train", str(data / file.train), "--output", str(run), *(resume or options))
    option = ["--option", file.option] if file.option else []
    where = ["--file", str(data / file.test), "--metrics", file.metrics, *option, "--results", str(RECORDS)]
    _permparse("evaluate", str(run), *where)


def _permparse(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "permparse", *arguments], check=True)


def table(files: Sequence[File], parsers: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """What the records of these seeds say, in Markdown."""
    lines = ["| file | metric | parser | % right, mean ± std | seeds |", "|---|---|---|---|---|"]
    for file in files:
        for parser in parsers:
            known = [seed for seed in seeds if file.record(parser, seed).is_file()]
            if not known:
                continue
            records = [json.loads(file.record(parser, seed).read_text(encoding="utf-8")) for seed in known]
            right = [100 * record["total"]["metrics"][file.metric] for record in records]
            spread = f" ± {statistics.stdev(right):.1f}" if len(right) > 1 else ""
            figure = f"{statistics.mean(right):.1f}{spread}"
            metric = f"{file.metric}, {file.option}" if file.option else file.metric
            lines.append(f"| {file.name} | {metric} | {parser} | {figure} | {', '.join(map(str, known))} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the files")
    parser.add_argument("--seeds", type=int, nargs="+", default=[106, 107, 108])
    parser.add_argument("--only", nargs="+", choices=[file.name for file in FILES], help="these files")
    parser.add_argument("--parser", nargs="+", default=[OURS], help="parsers, such as lstm")
    parser.add_argument("--runs", type=Path, default=Path("runs/own"), help="folder for the runs")
    parser.add_argument("--no-run", action="store_true", help="only print the table")
    chosen = parser.parse_args()
    files = [file for file in FILES if not chosen.only or file.name in chosen.only]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for file in () if chosen.no_run else files:
        for name in chosen.parser:
            for seed in chosen.seeds:
                if not file.record(name, seed).is_file():
                    measure(file, chosen.data.absolute(), name, seed, chosen.runs)
    print("\n".join(table(files, chosen.parser, chosen.seeds)))


if __name__ == "__main__":
    main()
