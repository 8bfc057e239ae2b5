"""What is left when something dies: a search that is killed twice, runs that lose a node, sentences that lose a worker.

    python benchmarks/cluster.py --output results/bench_cluster.json

Needs the extra `cluster`. The nodes are Ray's, all on this machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from permparse import Parser
from permparse.base.provenance import Provenance, peak_memory_mb
from permparse.bulk import parse_file
from permparse.executors import Executor, executor_for
from permparse.experiments.plan import FIRST_SEED, Run, folder_for
from permparse.experiments.runner import Failure, Places, Running, run_all
from permparse.experiments.study import Row
from permparse.tasks import get_task

TINY = (
    "data.train_examples=160",
    "tagger.encoder.hidden_size=16",
    "tagger.encoder.embedding_size=16",
    "tagger.training.epochs=2",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
    "scorer.training.epochs=1",
)
"""Doubling, too small to be good: what counts here is whether it comes out the same."""
NODES = 2


def tuned(folder: Path, trials: int, kills: int) -> dict[str, object]:
    """`permparse tune` in a folder, killed ``kills`` times with SIGKILL on its way and given again."""
    changes = [part for setting in TINY for part in ("--set", setting)]
    command = [sys.executable, "-m", "permparse", "tune", "doubling", "--space", "doubling", "--trials", str(trials)]
    command += [*changes, "--output", str(folder)]
    start = time.monotonic()
    for kill in range(1, kills + 1):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while len(list((folder / "runs").glob("*.json"))) < kill * trials // (kills + 1):
            if process.poll() is not None:
                raise RuntimeError("the search ended before it was killed")
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    seconds = round(time.monotonic() - start, 1)
    records = len(list((folder / "runs").glob("*.json")))
    return {"kills": kills, "records": records, "seconds": seconds, "best": (folder / "best.toml").read_text()}


class Saboteur:
    """Watches runs, and does something terrible once when ``after`` of them are finished."""

    def __init__(self, after: int, terrible: Callable[[], object] = lambda: None) -> None:
        self._after, self._terrible = after, terrible
        self.finished_runs: list[str] = []
        self.failures: list[str] = []

    def started(self, running: Running) -> None:
        return

    def finished(self, running: Running) -> None:
        self.finished_runs.append(running.run.name)
        if len(self.finished_runs) == self._after:
            self._terrible()

    def failed(self, failure: Failure) -> None:
        self.failures.append(f"{failure.run.name}: {failure.reason}")

    def tick(self, running: Sequence[Running], waiting: Sequence[Run]) -> None:
        return


def weights(runs: Sequence[Run], places: Places) -> dict[str, str]:
    """A checksum of the weights of every run."""
    found = {}
    for run in runs:
        files = sorted((folder_for(run, places.runs) / "parser").glob("*.safetensors"))
        found[run.name] = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    return found


def reproduced(folder: Path, runs: Sequence[Run], executor: Executor, saboteur: Saboteur) -> dict[str, object]:
    places, start = Places(folder / "runs", folder / "results"), time.monotonic()
    with executor:
        run_all(runs, places, executor, saboteur)
    return {
        "runs": len(runs),
        "finished": len(saboteur.finished_runs),
        "finished_twice": len(saboteur.finished_runs) - len(set(saboteur.finished_runs)),
        "failures": saboteur.failures,
        "records": len(list((folder / "results" / "runs").glob("*.json"))),
        "seconds": round(time.monotonic() - start, 1),
        "weights": weights(runs, places),
    }


def nodes(folder: Path, count: int) -> dict[str, object]:
    """Runs on a cluster that loses a node when a third of them is done, beside the same on processes."""
    from ray.cluster_utils import Cluster

    runs = [Run(Row("tiny", "doubling", TINY), FIRST_SEED + k) for k in range(count)]
    memory = {"object_store_memory": 1 << 27}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **memory})
    try:
        workers = [cluster.add_node(num_cpus=1, **memory) for _ in range(NODES)]
        lose = Saboteur(count // 3, lambda: cluster.remove_node(workers[-1], allow_graceful=False))
        ray = reproduced(folder / "ray", runs, executor_for(cluster.address, None, [folder]), lose)
    finally:
        cluster.shutdown()
    local = reproduced(folder / "local", runs, executor_for(None, NODES, [folder]), Saboteur(count))
    return {"ray": ray, "local": local, "same_weights": ray["weights"] == local["weights"]}


def sentences(folder: Path, count: int) -> dict[str, object]:
    """Sentences of the fragment on two workers, one of which is killed half-way, beside a plain loop."""
    task = get_task("fragment")
    known = [example.sentence for split in ("train", "gen") for example in task.load(split)]
    lines = random.Random(0).choices(known, k=count)
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if 2 * done >= total and done < total and not killed and (found := _ray_workers()):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])

    start = time.monotonic()
    refused = parse_file("fragment", source, output, "local", 2, shard_lines=max(1, count // 10), progress=kill_one)
    spread = time.monotonic() - start
    memory = peak_memory_mb()
    parser, start = Parser.load("fragment"), time.monotonic()
    expected = [parse.output for parse in parser.parse(lines)]
    plain = time.monotonic() - start
    return {
        "sentences": count,
        "refused": refused,
        "workers_killed": len(killed),
        "same_answers_in_order": output.read_text(encoding="utf-8").splitlines() == expected,
        "per_second_two_workers": round(count / spread, 1),
        "per_second_plain_loop": round(count / plain, 1),
        "peak_memory_mb_of_the_command": memory,
    }


def _ray_workers() -> list[int]:
    """The workers of Ray, among the descendants of this process, that do a piece of work."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    family = {os.getpid()}
    for _ in range(4):
        family |= {int(pid) for pid, parent, *_ in rows if int(parent) in family}
    return [int(row[0]) for row in rows if int(row[0]) in family and row[2].startswith("ray::_perform")]


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    found: dict[str, object] = {**asdict(Provenance())}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.trials:
            whole, killed = (tuned(folder / f"tune-{kills}", arguments.trials, kills) for kills in (0, 2))
            found["tune"] = {"whole": whole, "killed": killed, "same_best": whole["best"] == killed["best"]}
        if arguments.runs:
            found["nodes"] = nodes(folder, arguments.runs)
        if arguments.sentences:
            found["sentences"] = sentences(folder, arguments.sentences)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    found = measure(arguments)
    print(json.dumps(found, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
