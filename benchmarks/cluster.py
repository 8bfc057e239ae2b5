"""What is left when something dies: a search that is killed twice, runs that lose a node, sentences that lose a worker;
and what two processes learn beside one.

    python benchmarks/cluster.py --output results/bench_cluster.json
    python benchmarks/cluster.py --only sentences --sentences 1000000 --output results/bench_cluster.json

Needs the extra `cluster`. The nodes are Ray's, all on this machine. Parts that are not measured keep their figures.
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
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from permparse import Parser
from permparse.base.provenance import Provenance, peak_memory_mb
from permparse.bulk import parse_file
from permparse.evaluation.scores import evaluate
from permparse.executors import Executor, executor_for
from permparse.experiments.plan import FIRST_SEED, Run, folder_for
from permparse.experiments.runner import Failure, Places, Running, run_all
from permparse.experiments.study import Row
from permparse.tasks import get_task
from permparse.training.run import load_split

EASY = (
    "data.options.symbols=5",
    "data.options.shortest=3",
    "data.options.longest=6",
    "data.options.longest_test=10",
    "tagger.encoder.hidden_size=32",
    "tagger.encoder.embedding_size=32",
    "tagger.training.batch=16",
    "scorer.encoder.hidden_size=32",
    "scorer.encoder.embedding_size=32",
)
"""Doubling of short words over five symbols: learned in seconds."""
HASTY = (
    *EASY,
    "data.options.size=1200",
    "tagger.training.epochs=2",
    "scorer.training.epochs=1",
    "scorer.training.batch=128",
)
"""Few steps: how much is learned in them depends on the settings."""
NO_DROPOUT = tuple(f"{part}.{what}=0" for part in ("tagger", "scorer") for what in ("ff_dropout", "encoder.dropout"))
NODES = PROCESSES = 2
PLAIN = 20_000
"""Sentences of the plain loop."""


def tuned(folder: Path, trials: int, kills: int) -> dict[str, object]:
    """`permparse tune` in a folder, killed ``kills`` times with SIGKILL on its way and given again."""
    command = [sys.executable, "-m", "permparse", "tune", "doubling", "--space", "doubling", "--trials", str(trials)]
    command += [*_set(HASTY), "--jobs", "2", "--output", str(folder)]
    start, killed_after = time.monotonic(), []
    for kill in range(1, kills + 1):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while len(list((folder / "runs").glob("*.json"))) < kill * trials // (kills + 1):
            if process.poll() is not None:
                raise RuntimeError("the search ended before it was killed")
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_after.append(len(list((folder / "runs").glob("*.json"))))
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    scores = {path.stem: _score(path) for path in sorted((folder / "runs").glob("*.json"))}
    return {
        "killed_after_records": killed_after,
        "seconds": round(time.monotonic() - start, 1),
        "scores": scores,
        "best": (folder / "best.toml").read_text(),
    }


def _set(settings: Sequence[str]) -> list[str]:
    return [part for setting in settings for part in ("--set", setting)]


def _score(record: Path) -> float:
    evaluation = json.loads(record.read_text())["evaluations"]["dev"]
    return round(evaluation["total"]["metrics"][evaluation["main_metric"]], 4)


def tune(folder: Path, trials: int) -> dict[str, object]:
    """A search as a whole, and one that is killed twice."""
    whole, killed = (tuned(folder / f"tune-{kills}", trials, kills) for kills in (0, 2))
    same = {f"same_{what}": whole[what] == killed[what] for what in ("scores", "best")}
    return {"trials": trials, **same, "whole": whole, "killed": killed}


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

    runs = [Run(Row("hasty", "doubling", HASTY), FIRST_SEED + k) for k in range(count)]
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
    """Sentences of the fragment on two workers, one of which is killed half-way, beside a plain loop.

    Both are timed in seconds of a core, so that other work on the machine matters little. That of Ray is all of it:
    its daemons, the start of the workers, cutting and joining the file. What a file with two lines takes is its start.
    """
    task = get_task("fragment")
    known = [example.sentence for split in ("train", "gen") for example in task.load(split)]
    lines = random.Random(0).choices(known, k=count)
    source, output = folder / "in.txt", folder / "out.txt"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    killed: list[int] = []
    first = folder / "first.txt"
    first.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    with Family() as family:
        parse_file("fragment", first, folder / "first-out.txt", "local", 2, shard_lines=1)
    start_cores = family.all_cores
    family = Family()

    def kill_one(done: int, total: int) -> None:
        if 2 * done >= total and done < total and not killed and (found := family.busy()):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])

    start = time.monotonic()
    with family:
        refused = parse_file("fragment", source, output, "local", 2, progress=kill_one)
    seconds, cores = time.monotonic() - start, family.all_cores
    own_memory = peak_memory_mb()
    expected, plain_cores = plainly(lines)
    with open(output, encoding="utf-8") as answers:
        same = all(line == f"{expected[sentence]}\n" for line, sentence in zip(answers, lines, strict=True))
    by_ray, by_loop = count / (cores - start_cores), PLAIN / plain_cores
    return {
        "sentences": count,
        "distinct": len(set(lines)),
        "refused": refused,
        "workers_killed": len(killed),
        "same_answers_in_order": same,
        "seconds": round(seconds, 1),
        "per_second": round(count / seconds, 1),
        "core_seconds": round(cores, 1),
        "core_seconds_of_a_file_with_two_lines": round(start_cores, 1),
        "per_core_second_after_the_start": round(by_ray, 1),
        "per_core_second_plain_loop": round(by_loop, 1),
        "overhead_percent_after_the_start": round(100 * (by_loop / by_ray - 1), 1),
        "overhead_percent_in_all": round(100 * (by_loop * cores / count - 1), 1),
        "peak_memory_mb_of_the_command": own_memory,
        "peak_memory_mb_of_a_worker": max(family.worker_memory.values(), default=0.0),
        "peak_memory_mb_in_all": round(family.memory, 1),
    }


def plainly(lines: Sequence[str]) -> tuple[dict[str, str], float]:
    """What `Parser.parse` answers to every sentence, and how many seconds of a core it takes for the first PLAIN."""
    torch.set_num_threads(1)
    parser, some = Parser.load("fragment"), list(lines[:PLAIN])
    parser.parse(some[:100])  # the first sentences wait for kernels to load
    start = time.process_time()
    answers = dict(zip(some, parser.parse(some), strict=True))
    cores = (time.process_time() - start) * PLAIN / len(some)
    rest = sorted(set(lines) - answers.keys())
    answers |= dict(zip(rest, parser.parse(rest), strict=True))
    return {sentence: parse.output for sentence, parse in answers.items()}, cores


class Family:
    """Watches this process and its descendants: the seconds of a core that each has used, and their memory."""

    def __init__(self) -> None:
        self.cores: dict[int, float] = {}
        self.worker_memory: dict[int, float] = {}
        self.memory = 0.0
        self._own = self._watching = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Family:
        self._own = time.process_time()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._own = time.process_time() - self._own - self._watching

    @property
    def all_cores(self) -> float:
        """Seconds of a core that all of them have used together, when it is over."""
        return self._own + sum(self.cores.values())

    def busy(self) -> list[int]:
        """The workers of Ray that do a piece of work."""
        return [pid for pid, _, _, name in self._members() if name.startswith("ray::_perform")]

    def _watch(self) -> None:
        while not self._ended.wait(1):
            members = self._members()
            self.memory = max(self.memory, peak_memory_mb() + sum(memory for _, _, memory, _ in members))
            for pid, cores, memory, name in members:
                self.cores[pid] = cores
                if name.startswith("ray::_perform"):
                    self.worker_memory[pid] = max(memory, self.worker_memory.get(pid, 0.0))
        self._watching = time.thread_time()

    def _members(self) -> list[tuple[int, float, float, str]]:
        """Process, seconds of a core, memory in MB and name of every descendant but the `ps` that lists them."""
        columns = "pid=,ppid=,cputimes=,rss=,args="
        listed = subprocess.run(["ps", "-eo", columns], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 4) for line in listed.splitlines()]
        family = {str(os.getpid())}
        for _ in range(4):
            family |= {pid for pid, parent, *_ in rows if parent in family}
        family.remove(str(os.getpid()))
        return [
            (int(pid), float(cores), round(int(memory) / 1024, 1), name)
            for pid, _, cores, memory, name in rows
            if pid in family and columns not in name
        ]


def processes(folder: Path, seeds: int) -> dict[str, object]:
    """`permparse train` on two processes of `torchrun` beside one: without dropout, then with it for several seeds."""
    learn = (*EASY, "data.options.size=1200", "tagger.training.epochs=2", "scorer.training.epochs=3")
    pairs = {"without dropout": _pair(folder / "plain", (*learn, *NO_DROPOUT))}
    for seed in range(seeds):
        pairs[f"seed {seed}"] = _pair(folder / f"seed-{seed}", (*learn, f"seed={seed}"))
    return {"settings": learn, "trainings": pairs}


def _pair(folder: Path, settings: Sequence[str]) -> dict[str, object]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(PROCESSES)]
    one, two = (_trained(folder / name, settings, run) for name, run in (("one", []), ("two", torchrun)))
    return {"one": one, "two": two}


def _trained(folder: Path, settings: Sequence[str], torchrun: Sequence[str]) -> dict[str, object]:
    command = [sys.executable, *torchrun, "-m", "permparse", "train", "doubling", *_set(settings)]
    start = time.monotonic()
    subprocess.run([*command, "--output", str(folder)], check=True, capture_output=True)
    seconds = round(time.monotonic() - start, 1)
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    parser = Parser.load(folder)
    test = evaluate(parser, load_split(parser.task, "test", parser.recipe), "test")[0]
    return {
        "loss": [round(event["loss"], 6) for event in events if event["event"] == "epoch"],
        "test": round(test.total.metrics[test.main_metric], 4),
        "seconds": seconds,
    }


PARTS: dict[str, Callable[[Path, int], dict[str, object]]] = {
    "tune": tune,
    "nodes": nodes,
    "sentences": sentences,
    "processes": processes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part; may be repeated")
    parser.add_argument("--tune", type=int, default=20, help="trials")
    parser.add_argument("--nodes", type=int, default=12, help="runs")
    parser.add_argument("--sentences", type=int, default=1_000_000, help="lines")
    parser.add_argument("--processes", type=int, default=3, help="seeds")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    known = arguments.output is not None and arguments.output.is_file()
    found = json.loads(arguments.output.read_text()) if known else {}
    for name in arguments.only or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {**asdict(Provenance()), **PARTS[name](Path(folder), getattr(arguments, name))}
        print(json.dumps({name: found[name]}, indent=2), flush=True)
        if arguments.output:
            arguments.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
