"""The permutation layer beside general software: the same program by cvxpylayers, and Sinkhorn by POT and pygmtools.

    pip install cvxpylayers POT pygmtools
    python benchmarks/peers.py [--output results/bench_peers.json]

A step is U of one random problem and the gradient of a weighted sum of U in float64, in one process with one thread.
cvxpylayers states the paper's problem as it stands, n³ variables and their entropy; its size bounds what it can take.
Sinkhorn knows scores of tokens at positions and no jumps: an easier problem, here to show what the jumps cost.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy and scipy load their BLAS

import argparse
import importlib.metadata
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.table import Table
from torch import Tensor

from permparse.base.console import note, out
from permparse.base.provenance import Provenance
from permparse.permutation import BregmanSolver, JumpProblem, relaxed_permutation

SIZES = (10, 20, 50)
LARGEST_CONVEX = 20
"""n³ entropies are as many exponential cones: 8,000 for n = 20, 125,000 for n = 50, where it is not tried."""
TEMPERATURE = 0.5
TOLERANCE = 1e-6
PACKAGES = ("cvxpylayers", "POT", "pygmtools")


@dataclass
class Row:
    """One step of one library; CPU milliseconds, the best of ``repeats``."""

    size: int
    library: str
    problem: str
    forward_ms: float
    step_ms: float
    """Forward and gradient."""
    repeats: int
    row_and_column_error: float
    """How far the sums of rows and columns of U are from 1, at most."""
    difference: float | None
    """Largest difference to our U, for another library with the same problem."""


def convex_layer(n: int, temperature: float) -> Any:
    """From position scores [i, j] and jump scores [k, i] to U, by stating the problem as it stands in the paper."""
    import cvxpy as cp
    from cvxpylayers.torch import CvxpyLayer

    cells, jumps = cp.Parameter((n, n)), cp.Parameter((n, n))
    u, w = cp.Variable((n, n)), [cp.Variable((n, n)) for _ in range(n - 1)]  # w[j - 1][k, i]
    value = cp.sum(cp.multiply(u, cells)) + temperature * cp.sum(cp.entr(u))
    rules = [cp.sum(u, axis=0) == 1, cp.sum(u, axis=1) == 1]
    for j in range(1, n):
        value += cp.sum(cp.multiply(w[j - 1], jumps)) + temperature * cp.sum(cp.entr(w[j - 1]))
        rules += [cp.sum(w[j - 1], axis=0) == u[:, j], cp.sum(w[j - 1], axis=1) == u[:, j - 1], cp.diag(w[j - 1]) == 0]
    return CvxpyLayer(cp.Problem(cp.Maximize(value), rules), parameters=[cells, jumps], variables=[u])


def ours(scores: list[Tensor]) -> Tensor:
    start, jump, end = (one[None] for one in scores)
    solver = BregmanSolver(TEMPERATURE, tolerance=TOLERANCE, threads=1)
    return relaxed_permutation(JumpProblem(start, jump, end), solver).u[0]


def convex(n: int) -> Callable[[list[Tensor]], Tensor]:
    layer = convex_layer(n, TEMPERATURE)

    def solve(scores: list[Tensor]) -> Tensor:
        start, jump, end = scores
        cells = torch.stack([start, *[torch.zeros_like(start)] * (n - 2), end], 1)
        return layer(cells, jump, solver_args={"eps": TOLERANCE, "max_iters": 20_000})[0]

    return solve


def pot(scores: list[Tensor]) -> Tensor:
    import ot

    ones = torch.ones(len(scores[1]), dtype=torch.float64)
    return ot.sinkhorn(ones, ones, -scores[1], TEMPERATURE, stopThr=TOLERANCE, numItermax=1000)


def pygmtools(scores: list[Tensor]) -> Tensor:
    import pygmtools as gm

    return gm.sinkhorn(scores[1], max_iter=100, tau=TEMPERATURE, backend="pytorch")


def measure(n: int, library: str, problem: str, solve: Callable[[list[Tensor]], Tensor], repeats: int) -> Row:
    generator = torch.Generator().manual_seed(n)
    shapes = ((n,), (n, n), (n,))
    scores = [torch.randn(*s, dtype=torch.float64, generator=generator).requires_grad_() for s in shapes]
    weights = torch.randn(n, n, dtype=torch.float64, generator=generator)
    forward, step = [], []
    for _ in range(repeats + 1):  # the first one compiles
        begin = time.process_time()
        u = solve(scores)
        forward.append(time.process_time() - begin)
        (u * weights).sum().backward()
        step.append(time.process_time() - begin)
    u = u.detach()
    error = max(float((u.sum(axis) - 1).abs().max()) for axis in (0, 1))
    difference = float((u - ours(scores).detach()).abs().max()) if library == "cvxpylayers" else None
    row = Row(n, library, problem, 1000 * min(forward[1:]), 1000 * min(step[1:]), repeats, error, difference)
    note("[dim]{row}[/]", row=str(row))
    return row


def table(rows: list[Row]) -> Table:
    shown = Table("n", "library", "problem", "U, ms", "and gradient, ms", "sums off by", "U off by")
    for row in rows:
        difference = "" if row.difference is None else f"{row.difference:.0e}"
        times = f"{row.forward_ms:.2f}", f"{row.step_ms:.2f}"
        shown.add_row(str(row.size), row.library, row.problem, *times, f"{row.row_and_column_error:.0e}", difference)
    return shown


def versions() -> dict[str, str]:
    """The version of every peer; ends the program where one is missing."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            sys.exit(f"{package} is not installed; this benchmark needs: pip install {' '.join(PACKAGES)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    peers, rows = versions(), []
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of libraries that are not ours
    for n in SIZES:
        rows.append(measure(n, "permparse", "jumps", ours, 20))
        if n <= LARGEST_CONVEX:
            rows.append(measure(n, "cvxpylayers", "jumps", convex(n), 2 if n > 10 else 3))
        rows.append(measure(n, "POT", "Sinkhorn", pot, 20))
        rows.append(measure(n, "pygmtools", "Sinkhorn", pygmtools, 20))
    out.print(table(rows))
    if arguments.output:
        found = {**asdict(Provenance()), "peers": peers, "temperature": TEMPERATURE, "tolerance": TOLERANCE}
        arguments.output.write_text(json.dumps({**found, "rows": [asdict(row) for row in rows]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
