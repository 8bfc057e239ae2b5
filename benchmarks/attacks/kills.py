"""Trainings ended by SIGKILL at random moments and resumed: the weights must be those of a training left alone."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from attacks.small import SMALL
from attacks.verdict import FAULT, Section, exit_code, forked
from permparse import Parser, load_recipe, train
from permparse.training import loop

MOST_KILLS = 4
"""One training is killed up to so often before it is left to finish."""


def attack_kills(count: int, scratch: Path) -> Section:
    """``count`` kills. Trainings are forked from this process, which has all modules loaded, so that most kills fall
    into training and not into imports; checkpoints are written far more often than in earnest."""
    loop.CHECKPOINT_SECONDS = 0.02
    section, chance = Section(), random.Random(int.from_bytes(os.urandom(4)))
    started = time.monotonic()
    _train(scratch / "whole")
    seconds = time.monotonic() - started
    expected, number = _weights(scratch / "whole"), 0
    while section.verdicts.total() < count:
        number += 1
        folder = scratch / f"killed-{number}"
        kills = min(chance.randint(1, MOST_KILLS), count - section.verdicts.total())
        for _ in range(kills):
            child = forked(lambda folder=folder: _train(folder))
            time.sleep(chance.uniform(0.02, 0.9) * seconds)
            os.kill(child, signal.SIGKILL)
            exit_code(child)
        finished = exit_code(forked(lambda folder=folder: _train(folder)))
        same = finished == 0 and _weights(folder) == expected
        scratch_left = [path.name for path in folder.rglob("*.part")]
        for kill in range(kills):
            name = f"training {number}, kill {kill + 1}"
            if finished:
                section.add(name, f"{FAULT}not resumed", f"exit code {finished}")
            elif not same:
                section.add(name, f"{FAULT}other weights")
            elif scratch_left:
                section.add(name, f"{FAULT}scratch files", ", ".join(scratch_left))
            else:
                section.add(name, "same weights")
    return section


def _train(folder: Path) -> None:
    """Begin the training, or go on with it."""
    begun = (folder / "recipe.toml").exists()
    train(load_recipe("doubling", SMALL), folder, resume=begun, quiet=True)


def _weights(folder: Path) -> list[bytes]:
    networks = Parser.load(folder).networks.values()
    return [tensor.numpy().tobytes() for network in networks for tensor in network.state_dict().values()]
