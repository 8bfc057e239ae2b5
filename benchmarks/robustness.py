"""What must never happen: a traceback, a hang, a lost checkpoint. Kills trainings and feeds rubbish to the
command line.

    python benchmarks/robustness.py [--parses 2000] [--files 500] [--kills 5] [--output
    results/bench_robustness.json]

Each file is one run of `permparse train tsv` in this process; each kill is a `kill -9` of a training of its
own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from permparse.base.console import note, out
from permparse.base.errors import UserError
from permparse.cli import run
from permparse.parsers import Parser
from permparse.parsers.recipe import load_recipe
from permparse.training.run import train

SMALL = [
    "tagger.training.epochs=1",
    "scorer.training.epochs=1",
    "tagger.encoder.hidden_size=16",
    "tagger.encoder.embedding_size=16",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
]
KILLED = [
    *SMALL,
    "tagger.training.epochs=3",
    "scorer.training.epochs=3",
    "data.train_examples=480",
]
ALPHABET = "abc XY\t\n\r .,;:'\"\\/()[]{}<>$%&#0123456789äßñ漢字🙂👩‍🚀\u200b\u202e\ufeff\u0000\u0007\u001b\u00a0"
SLOW = 20.0
"""Seconds beyond which a single input counts as a hang."""


def fuzzed_text(chance: random.Random) -> str:
    """A sentence: mostly short rubbish, sometimes words that are known, sometimes very long."""
    kind = chance.random()
    if kind < 0.2:
        return " ".join(chance.choices("abcdefghijk", k=chance.randint(1, 30)))
    if kind < 0.21:
        return " ".join(chance.choices("abcdefghijkz", k=300))
    return "".join(chance.choices(ALPHABET, k=chance.randint(0, 60)))


def fuzzed_file(chance: random.Random) -> bytes:
    """A data file: well formed, then damaged here and there."""
    rows = []
    for _ in range(chance.randint(0, 12)):
        words = chance.choices("abcdefgh", k=chance.randint(1, 6))
        rows.append(" ".join(words) + "\t" + " ".join(w.upper() for w in reversed(words)))
    content = bytearray("\n".join(rows).encode())
    for _ in range(chance.choice([0, 0, 1, 3, 20])):
        where = chance.randint(0, len(content))
        content[where:where] = chance.choice([b"\t", b"\n", b"\xff", b"\x00", b"\r", "🙂".encode(), b" ", b"9"])
    return bytes(content)


def fuzz_parses(count: int, folder: Path) -> Counter[str]:
    """Sentences to `Parser.parse`: how many were parsed and how many refused."""
    chance = random.Random(0)
    parser = train(load_recipe("doubling", [*SMALL, "data.train_examples=480"]), folder / "parser", quiet=True)
    verdicts: Counter[str] = Counter()
    for _ in range(count):
        text, started = fuzzed_text(chance), time.monotonic()
        try:
            json.loads(parser.parse(text).to_json())
            verdict = "parsed"
        except UserError:
            verdict = "refused in words"
        except Exception as error:
            verdict = f"FAULT {type(error).__name__}"
            note(f"{text!r}: {error!r}")
        verdicts["HANG" if time.monotonic() - started > SLOW else verdict] += 1
    return verdicts


def fuzz_files(count: int, folder: Path) -> Counter[str]:
    """Data files to `permparse train tsv`, by exit code."""
    chance = random.Random(1)
    verdicts: Counter[str] = Counter()
    settings = [part for item in SMALL for part in ("--set", item)]
    for number in range(count):
        path, started = folder / f"{number}.tsv", time.monotonic()
        path.write_bytes(fuzzed_file(chance))
        command = ["train", "tsv", "--quiet", "--set", f"data.options.train='{path}'", *settings]
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            code = run([*command, "--output", str(folder / f"run-{number}")])
        meaning = {0: "trained", 2: "refused in words"}.get(code, f"FAULT exit {code}")
        if meaning.startswith("FAULT") or "Traceback" in messages.getvalue():
            note(f"{path}: {messages.getvalue()}")
        verdicts["HANG" if time.monotonic() - started > SLOW else meaning] += 1
    return verdicts


def kill_and_resume(count: int, folder: Path) -> Counter[str]:
    """Trainings killed at random moments and resumed: whether their weights equal those of a run left
    alone."""
    settings = [part for item in KILLED for part in ("--set", item)]
    command = [sys.executable, "-c", "from permparse.cli import main; main()", "train", "doubling", "--quiet"]

    def start(name: str, *more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, *more, "--output", str(folder / name)])

    started = time.monotonic()
    assert start("whole", *settings).wait() == 0
    whole = time.monotonic() - started
    expected = weights(folder / "whole")
    chance = random.Random(int.from_bytes(os.urandom(4)))
    verdicts: Counter[str] = Counter()
    for number in range(count):
        process = start(f"killed-{number}", *settings)
        time.sleep(chance.uniform(0.3, 0.95) * whole)
        process.kill()
        process.wait()
        begun = (folder / f"killed-{number}" / "recipe.toml").exists()
        again = ("--resume",) if begun else settings
        assert start(f"killed-{number}", *again).wait() == 0
        same = weights(folder / f"killed-{number}") == expected
        verdicts["same weights" if same else "FAULT other weights"] += 1
    return verdicts


def weights(folder: Path) -> list[bytes]:
    parser = Parser.load(folder)
    networks = parser.tagger, parser.scorer
    return [tensor.numpy().tobytes() for net in networks for tensor in net.state_dict().values()]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    for name, default in (("parses", 2000), ("files", 500), ("kills", 5)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    arguments.add_argument("--output", type=Path, default=Path("results/bench_robustness.json"))
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = {
            "parses": dict(fuzz_parses(options.parses, Path(scratch))),
            "files": dict(fuzz_files(options.files, Path(scratch))),
            "kills": dict(kill_and_resume(options.kills, Path(scratch))),
        }
    options.output.write_text(json.dumps(figures, indent=2) + "\n")
    out.print(figures)
    sys.exit(any("FAULT" in key or key == "HANG" for part in figures.values() for key in part))


if __name__ == "__main__":
    main()
