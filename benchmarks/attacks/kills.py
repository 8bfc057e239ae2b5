"""Trainings ended by SIGKILL at random moments and resumed: the weights must be those of a training left alone."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from attacks.small import SMALL
from attacks.verdict import FAULT, Answer, Section, exit_code, forked, shared
from permparse import Parser, load_recipe, train
from permparse.training import loop

TRAINED = [
    *SMALL,
    "data.train_examples=64",
    "tagger.training.epochs=4",
    "tagger.training.evaluate_every=2",
    "scorer.training.epochs=2",
    "scorer.training.evaluate_every=2",
]


def attack_kills(count: int, scratch: Path) -> Section:
    """``count`` kills, of a training each. Trainings are forked from this process, which has all modules loaded, so
    that kills fall into training and not into imports; checkpoints are written far more often than in earnest."""
    loop.CHECKPOINT_SECONDS = 0.02
    _train(scratch / "whole")
    expected = _weights(scratch / "whole")
    started = time.process_time()
    _train(scratch / "again")
    seconds = time.process_time() - started
    assert _weights(scratch / "again") == expected
    chance = random.Random(int.from_bytes(os.urandom(4)))
    moments = [chance.uniform(0.02, 0.95) * seconds for _ in range(count)]
    return shared(lambda number: _attacked(number, moments[number], scratch, expected), count, scratch)


def _attacked(number: int, moment: float, scratch: Path, expected: list[bytes]) -> Answer:
    """Kill a training after so many seconds of its own time, and let another process finish it."""
    folder, name = scratch / f"killed-{number}", f"kill {number} after {moment:.2f} s"
    child = forked(lambda: _train(folder))
    while _seconds(child) < moment:
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    exit_code(child)
    begun = (folder / "recipe.toml").exists()
    if code := exit_code(forked(lambda: _train(folder))):
        return name, f"{FAULT}not resumed", f"exit code {code}"
    if _weights(folder) != expected:
        return name, f"{FAULT}other weights", ""
    if left := [path.name for path in folder.rglob("*.part")]:
        return name, f"{FAULT}scratch files", ", ".join(left)
    return name, "same weights" if begun else "same weights, killed before the run began", ""


def _seconds(child: int) -> float:
    """The CPU time of a process; without end once it is over."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    over = fields[0] == "Z"
    return float("inf") if over else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _train(folder: Path) -> None:
    """Begin the training, or go on with it."""
    begun = (folder / "recipe.toml").exists()
    train(load_recipe("doubling", TRAINED), folder, resume=begun, quiet=True)


def _weights(folder: Path) -> list[bytes]:
    networks = Parser.load(folder).networks.values()
    return [tensor.numpy().tobytes() for network in networks for tensor in network.state_dict().values()]
