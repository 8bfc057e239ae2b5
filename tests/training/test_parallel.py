"""Two processes train what one does: the same losses, resumable to the same weights, and one voice when one dies."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from conftest import TINY
from permparse.base.errors import UserError
from permparse.parsers.recipe import load_recipe
from permparse.training.parallel import Processes
from permparse.training.run import train

# The last batch has one example, so that one process is left without a share.
FEW = [*TINY, "data.train_examples=161", "tagger.training.epochs=5", "scorer.training.batch=8"]
NO_DROPOUT = ["tagger.ff_dropout=0", "scorer.ff_dropout=0", "tagger.encoder.dropout=0", "scorer.encoder.dropout=0"]
SETTINGS = [*FEW, *NO_DROPOUT]
TRAIN = ["-m", "permparse", "train"]
THREADS_LEFT = """
import glob, sys
from permparse.training.parallel import joined
with joined() as processes:
    import torch.distributed.nn  # as an optimiser does
    assert processes.from_first("said") == "said"
names = [open(path).read() for path in glob.glob("/proc/self/task/*/comm")]
sys.exit(",".join(name.strip() for name in names if "gloo" in name) or None)
"""


Start = Callable[..., list[subprocess.Popen[str]]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Python with these arguments on two processes that find each other as those of `torchrun` do."""
    started: list[subprocess.Popen[str]] = []

    def pair(*arguments: str) -> list[subprocess.Popen[str]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, *arguments]
        for rank in ("0", "1"):
            environment = {**os.environ, **meeting, "RANK": rank}
            started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return started[-2:]

    yield pair
    for process in started:
        process.kill()
        process.wait()


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit code and last words of each."""
    said = [process.communicate()[1] for process in processes]
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


def epochs(run: Path) -> dict[tuple[str, int], dict[str, float]]:
    """What the log says of every epoch of a run."""
    log = run / "log.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {(record["stage"], record["epoch"]): record for record in records if record["event"] == "epoch"}


def test_two_processes_learn_what_one_does_even_if_one_is_killed(start: Start, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    changes = [part for setting in SETTINGS for part in ("--set", setting)]
    both = start(*TRAIN, "doubling", *changes, "--output", str(together))
    while not epochs(together):
        assert both[0].poll() is None
        time.sleep(0.02)
    both[1].kill()
    (code, said), _ = ended(both)
    assert code == 2
    assert said.splitlines()[-1] == "error: a process of this training has ended, and so do all; continue with --resume"
    with pytest.raises(UserError, match=r"began on 2 processes, now 1; run torchrun --nproc_per_node 2 -m permparse"):
        train("doubling", together, resume=True, quiet=True)
    (code, _), silent = ended(start(*TRAIN, "--resume", "--output", str(together)))
    assert (code, silent) == (0, (0, ""))

    train(load_recipe("doubling", SETTINGS), alone, quiet=True)
    assert epochs(together).keys() == epochs(alone).keys()
    for epoch, one in epochs(alone).items():
        two = epochs(together)[epoch]
        assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)
        assert two["accuracy"] == one["accuracy"]


def test_a_mistake_is_said_once(start: Start, tmp_path: Path) -> None:
    told = ended(start(*TRAIN, "doublin", "--output", str(tmp_path / "run")))
    assert [code for code, _ in told] == [2, 2]
    assert sum("error:" in said for _, said in told) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_processes_part_without_a_thread_left(start: Start) -> None:
    assert ended(start("-c", THREADS_LEFT)) == [(0, ""), (0, "")]


def test_shares_make_up_the_batch() -> None:
    batch = np.arange(7)
    shares = [Processes(rank, 3).share(batch) for rank in range(3)]
    assert sorted(np.concatenate(shares)) == list(batch)
    assert list(Processes().share(batch)) == list(batch)
