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
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch

from permparse import Parser
from permparse.base.provenance import Provenance
from permparse.bulk.run import SHARD_LINES
from permparse.evaluation.scores import evaluate
from permparse.executors import Executor, executor_for
from permparse.experiments.plan import FIRST_SEED, Run, folder_for
from permparse.experiments.runner import Failure, Places, Running, run_all
from permparse.experiments.study import Row
from permparse.tasks.fragment_grammar import Sampler, write
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
LEARNED = (
    *EASY,
    "data.options.size=1200",
    "tagger.training.epochs=4",
    "tagger.training.lr=7e-3",
    "scorer.training.epochs=4",
    "scorer.training.lr=5.5e-3",
)
"""Enough steps to learn it."""
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
    """`permparse parse --cluster` with different sentences of the fragment on two workers, one of which is killed
    half-way, beside a plain loop over as many of them as PLAIN.

    Both are timed in seconds of a core, so that other work on the machine matters little. That of Ray is all of it:
    its services, the start of the workers, cutting and joining the file, and what was lost with the worker. What a file
    with two lines takes is its start.
    """
    source, gold, output = (folder / name for name in ("in.txt", "gold.txt", "out.txt"))
    first = generate(count, source, gold)
    few = folder / "few.txt"
    few.write_text("\n".join(first[:2]) + "\n", encoding="utf-8")
    start = Watched(parse_command(few, folder / "few-out.txt"), lambda _: None).core_seconds
    expected, before = plainly(first)
    killed: list[int] = []
    shards = folder / "out.txt.shards"

    def kill_one(members: Sequence[Member]) -> None:
        workers = [member.pid for member in members if member.at_work]
        if workers and not killed and len(list(shards.glob("*.answers"))) * 2 >= -(-count // SHARD_LINES):
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])

    run = Watched(parse_command(source, output), kill_one)
    again, after = plainly(first)
    with open(output, encoding="utf-8") as answers, open(gold, encoding="utf-8") as forms:
        right = sum(answer == form for answer, form in zip(answers, forms, strict=True))
    with open(output, encoding="utf-8") as answers:
        same = expected == again == [answer.rstrip("\n") for answer in islice(answers, PLAIN)]
    cores, plain = run.core_seconds, (before + after) / 2
    return {
        "sentences": count,
        "workers_killed": len(killed),
        "answers_as_in_the_plain_loop": f"{'all' if same else 'not all'} of the first {len(expected)}",
        "answers_that_are_right": right,
        "seconds": round(run.seconds, 1),
        "per_second": round(count / run.seconds, 1),
        "core_seconds": round(cores, 1),
        "core_seconds_of": {kind: round(seconds, 1) for kind, seconds in run.core_seconds_of.items()},
        "core_seconds_of_a_file_with_two_lines": round(start, 1),
        "per_core_second": round(count / cores, 1),
        "per_core_second_plain_loop": [round(before, 1), round(after, 1)],
        "overhead_percent": round(100 * (plain * cores / count - 1), 1),
        "overhead_percent_without_the_start": round(100 * (plain * (cores - start) / count - 1), 1),
        "peak_memory_mb_of": run.memory_of,
        "peak_memory_mb_in_all": round(run.memory, 1),
    }


def generate(count: int, source: Path, gold: Path) -> list[str]:
    """Write different sentences and their logical forms to two files; the first PLAIN sentences."""
    sampler, seen, first = Sampler(random.Random("cluster"), 2), set[int](), list[str]()
    with open(source, "w", encoding="utf-8") as sentences, open(gold, "w", encoding="utf-8") as forms:
        while len(seen) < count:
            written = write(sampler.sentence())
            sentence = " ".join(written.words)
            if hash(sentence) not in seen:
                seen.add(hash(sentence))
                sentences.write(f"{sentence}\n")
                forms.write(f"{written.form}\n")
                first += [sentence] if len(first) < PLAIN else []
    return first


def parse_command(source: Path, output: Path) -> list[str]:
    command = [sys.executable, "-m", "permparse", "parse", "fragment", "--cluster", "local", "--jobs", "2"]
    return [*command, "--file", str(source), "--output", str(output)]


def plainly(lines: list[str]) -> tuple[list[str], float]:
    """What `Parser.parse` answers, and how many sentences it parses in a second of a core."""
    torch.set_num_threads(1)
    parser = Parser.load("fragment")
    parser.parse(lines[:100])  # the first sentences wait for kernels to load
    start = time.process_time()
    parses = parser.parse(lines)
    return [parse.output for parse in parses], len(lines) / (time.process_time() - start)


WORKER, COMMAND, SERVICES = "workers", "the command", "services of Ray"


@dataclass(frozen=True)
class Member:
    """A process of a command: the seconds of a core that it has used, and the memory that it holds."""

    pid: int
    kind: str
    at_work: bool
    core_seconds: float
    memory_mb: float


class Watched:
    """A command that has been run, and what it and all its descendants took; ``during`` sees them twice a second."""

    def __init__(self, command: Sequence[str], during: Callable[[Sequence[Member]], None]) -> None:
        members: dict[int, Member] = {}
        self.memory, self.memory_of = 0.0, dict[str, float]()
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            now = descendants(process.pid)
            members |= {member.pid: member for member in now}
            self.memory = max(self.memory, sum(member.memory_mb for member in now))
            for member in now:
                self.memory_of[member.kind] = max(member.memory_mb, self.memory_of.get(member.kind, 0.0))
            during(now)
            time.sleep(0.5)
        if process.returncode:
            raise RuntimeError(process.communicate()[1])
        self.seconds = time.monotonic() - start
        self.core_seconds_of = {
            kind: sum(member.core_seconds for member in members.values() if member.kind == kind)
            for kind in (WORKER, COMMAND, SERVICES)
        }

    @property
    def core_seconds(self) -> float:
        return sum(self.core_seconds_of.values())


def descendants(root: int) -> list[Member]:
    """A process and all that it or its descendants have started, as Linux lists them."""
    found: dict[int, tuple[int, list[str], str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            # Its name stands in brackets, and may hold some itself.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if name := (folder / "cmdline").read_text():  # what has ended, but is still listed, has none
                found[int(folder.name)] = int(fields[1]), fields, name
    family = {root}
    while more := {pid for pid, (parent, _, _) in found.items() if parent in family} - family:
        family |= more
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") / 2**20
    members = []
    for pid in family & found.keys():
        _, fields, name = found[pid]
        at_work = name.startswith("ray::_perform")
        kind = COMMAND if pid == root else WORKER if at_work or name.startswith("ray::IDLE") else SERVICES
        cores = (int(fields[11]) + int(fields[12])) / ticks
        members.append(Member(pid, kind, at_work, cores, round(int(fields[21]) * page, 1)))
    return members


def processes(folder: Path, seeds: int) -> dict[str, object]:
    """`permparse train` on two processes of `torchrun` beside one: without dropout, then with it for several seeds."""
    pairs = {"without dropout": _pair(folder / "plain", (*LEARNED, *NO_DROPOUT))}
    for seed in range(seeds):
        pairs[f"seed {seed}"] = _pair(folder / f"seed-{seed}", (*LEARNED, f"seed={seed}"))
    spread = {}
    for number in ("one", "two"):
        found = [pair[number] for name, pair in pairs.items() if name != "without dropout"]
        losses = zip(*(training.loss for training in found), strict=True)
        spread[number] = {
            "test": _mean_and_std([training.test for training in found]),
            "loss": [_mean_and_std(of_an_epoch) for of_an_epoch in losses],
        }
    trainings = {name: {number: asdict(found) for number, found in pair.items()} for name, pair in pairs.items()}
    return {"settings": LEARNED, "mean_and_std_of_seeds": spread, "trainings": trainings}


def _mean_and_std(values: Sequence[float]) -> list[float]:
    return [round(statistics.fmean(values), 4), round(statistics.stdev(values) if len(values) > 1 else 0.0, 4)]


@dataclass(frozen=True)
class Training:
    """The loss of every epoch of both stages, and accuracy on words longer than those of training."""

    loss: list[float]
    test: float
    seconds: float


def _pair(folder: Path, settings: Sequence[str]) -> dict[str, Training]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(PROCESSES)]
    one, two = (_trained(folder / name, settings, run) for name, run in (("one", []), ("two", torchrun)))
    return {"one": one, "two": two}


def _trained(folder: Path, settings: Sequence[str], torchrun: Sequence[str]) -> Training:
    command = [sys.executable, *torchrun, "-m", "permparse", "train", "doubling", *_set(settings)]
    start = time.monotonic()
    subprocess.run([*command, "--output", str(folder)], check=True, capture_output=True)
    seconds = round(time.monotonic() - start, 1)
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    parser = Parser.load(folder)
    test = evaluate(parser, load_split(parser.task, "test", parser.recipe), "test")[0]
    loss = [round(event["loss"], 6) for event in events if event["event"] == "epoch"]
    return Training(loss, round(test.total.metrics[test.main_metric], 4), seconds)


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
