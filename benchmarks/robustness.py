"""What must never happen: a traceback, a hang, NaN, lost weights. Attacks permparse and counts what holds.

    python benchmarks/robustness.py                          every section
    python benchmarks/robustness.py folders --count 200      one section
    ... --output results/bench_robustness.json

A section that is run alone replaces its own figures in the file and keeps those of the others. Ctrl-C, or SIGTERM, ends
the sections `kills` and `files` early, with the figures so far.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from rich.table import Table

from attacks.files import attack_files
from attacks.folders import attack_folders
from attacks.kills import attack_kills
from attacks.saves import attack_saves
from attacks.sentences import attack_sentences
from attacks.solver import attack_solver
from attacks.verdict import Section
from permparse.base.console import note, out
from permparse.base.provenance import Provenance

SECTIONS: dict[str, tuple[Callable[[int, Path], Section], int]] = {
    "solver": (attack_solver, 10_000),
    "folders": (attack_folders, 200),
    "kills": (attack_kills, 50),
    "saves": (attack_saves, 1000),
    "sentences": (attack_sentences, 5000),
    "files": (attack_files, 500),
}
"""What is attacked, and how often if nothing else is asked for."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    arguments.add_argument("--count", type=int, help="attacks per section")
    arguments.add_argument("--output", type=Path, default=Path("results/bench_robustness.json"))
    options = arguments.parse_args()
    torch.set_num_threads(1)  # a process with a pool of OpenMP threads cannot be forked: the child waits for them
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if unknown := set(options.sections) - set(SECTIONS):
        arguments.error(f"no section is called {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    table = Table("section", "holds", "failures", "seconds", "verdicts", box=None, header_style="bold")
    failures = 0
    for name in options.sections or SECTIONS:
        attack, usual = SECTIONS[name]
        started = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            section = attack(options.count or usual, Path(scratch))
        seconds = time.monotonic() - started
        verdicts = ", ".join(f"{verdict} {number}" for verdict, number in section.verdicts.most_common())
        table.add_row(name, str(section.holds), str(section.failures), f"{seconds:.0f}", verdicts)
        for attacked, what in section.failed.items():
            note("{name}: {attacked}: {what}", name=name, attacked=attacked, what=what)
        record(options.output, name, section, seconds)
        failures += section.failures
    out.print(table)
    sys.exit(failures > 0)


def record(path: Path, name: str, section: Section, seconds: float) -> None:
    """Put the figures of a section into the file, beside those of the others, which may run at the same time."""
    with open(path, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        figures = json.loads(file.read() or "{}")
        figures[name] = {
            "holds": section.holds,
            "failures": section.failures,
            "seconds": round(seconds, 1),
            "verdicts": dict(section.verdicts.most_common()),
            "failed": section.failed,
            **asdict(Provenance()),
        }
        file.truncate(0)
        file.write(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
