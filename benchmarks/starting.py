"""How long a new process takes to its first parse: cold, warm, and where nothing can be written.

    python benchmarks/starting.py ENVIRONMENT/bin/python [--output results/bench_starting.json]

The environment is one into which permparse was installed (pip compiles its modules), not a checkout. Each row is
`python -m permparse parse fragment "a cat saw a dog"` in a new process: seconds of CPU and of the clock. Kernels are
kept in a folder of their own, empty at first. Where root may mount, the package, the home folder and at last the folder
for temporary files are mounted read-only, for this process alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from permparse.base.console import note, out
from permparse.base.provenance import Provenance

SENTENCE, EXPECTED = "a cat saw a dog", "saw"
WARM = 5
READ_ONLY = """
set -e
for folder in "$@"; do mount --bind "$folder" "$folder"; mount -o remount,ro,bind "$folder"; done
"""
"""What is run in a name space of its own before the command."""


@dataclass
class Start:
    """One new process, or the median of several."""

    what: str
    cpu_seconds: float
    seconds: float


def started(what: str, command: Sequence[str], environment: dict[str, str]) -> Start:
    """Run a command that has to parse the sentence."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or EXPECTED not in done.stdout:
        raise SystemExit(f"{what}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start(what, round(cpu, 2), round(seconds, 2))


def median(what: str, starts: Sequence[Start]) -> Start:
    return Start(what, statistics.median(s.cpu_seconds for s in starts), statistics.median(s.seconds for s in starts))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("python", type=Path, help="interpreter of the environment")
    options.add_argument("--output", type=Path, help="write the figures to this JSON file")
    arguments = options.parse_args()
    parse = [str(arguments.python), "-m", "permparse", "parse", "fragment", SENTENCE]
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TMPDIR")}
    plain |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        home, kernels, temporary = (Path(scratch, name) for name in ("home", "kernels", "temporary"))
        for folder in (home, kernels, temporary):
            folder.mkdir()
        own = plain | {"HOME": str(home), "NUMBA_CACHE_DIR": str(kernels), "TMPDIR": str(temporary)}
        torch = [str(arguments.python), "-c", f"import torch; print({EXPECTED!r})"]
        starts = [started("cold: no kernel compiled before", parse, own)]
        starts.append(median("warm", [started("warm", parse, own) for _ in range(WARM)]))
        starts.append(median("import of torch alone", [started("torch", torch, own) for _ in range(WARM)]))
        read_only = plain | {"HOME": str(home), "TMPDIR": str(temporary)}
        prefix = Path(arguments.python).absolute().parent.parent
        for what, folders in (
            ("cold, package and home read-only", [prefix, home]),
            ("warm, package and home read-only", [prefix, home]),
            ("nothing can be written", [prefix, home, Path(scratch)]),
        ):
            script = READ_ONLY + f"exec {' '.join(map(repr, parse))}"
            command = ["unshare", "-m", "sh", "-c", script, "sh", *map(str, folders)]
            if os.geteuid() != 0:
                note(f"{what}: left out, only root may mount")
                continue
            starts.append(started(what, command, read_only))
    table = Table("first parse of a new process", "CPU seconds", "seconds", box=None, header_style="bold")
    for start in starts:
        table.add_row(start.what, f"{start.cpu_seconds:.2f}", f"{start.seconds:.2f}")
    out.print(table)
    if arguments.output:
        content = {"starts": [asdict(start) for start in starts], **asdict(Provenance())}
        arguments.output.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
