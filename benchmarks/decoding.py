"""Decoders compared: how often they find the best order, and how long they take.

    python benchmarks/decoding.py [--quick] [--output results/bench_decoding.json]

Planted scores favour the jumps of a hidden order by 1.4 log n over noise of standard deviation 1, so that
Hungarian rounding of U* at the paper's temperature fails on some; random scores are that noise alone. The
yardstick is dynamic programming up to 12 tokens and OR-Tools CP-SAT (10 s) beyond, on the first few problems.
One process, one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.table import Table

from permparse.base.console import note, out
from permparse.permutation.decoding import Decoded, decode
from permparse.permutation.decoding.cp_sat import prove_path
from permparse.permutation.decoding.dispatch import solve_small
from permparse.permutation.decoding.instance import instances
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solver import BregmanSolver
from permparse.permutation.temperature import Temperature

SIZES = (8, 12, 20, 50, 100)
PROBLEMS = {8: 200, 12: 200, 20: 200, 50: 100, 100: 40}
PROVED = {20: 20, 50: 12, 100: 10}
PROOF_SECONDS = 10.0
PROOF_BUDGET = 60.0
"""Seconds of CP-SAT for one kind and size; what does not fit is left out."""


@dataclass
class Row:
    """One decoder on one kind and size of problem; shares are of ``problems``."""

    kind: str
    size: int
    decoder: str
    problems: int
    best: float
    """Share solved to the best score known from any decoder."""
    proven: float
    """Share whose order the decoder itself proves optimal."""
    milliseconds: float
    """Per problem."""


def problems(kind: str, size: int, count: int) -> JumpProblem:
    generator = torch.Generator().manual_seed(size)
    start, jump, end = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((count, size), (count, size, size), (count, size))
    )
    if kind == "planted":
        for b in range(count):
            order = torch.randperm(size, generator=generator)
            favour = 1.4 * math.log(size)
            start[b, order[0]] += favour
            jump[b, order[:-1], order[1:]] += favour
            end[b, order[-1]] += favour
    return JumpProblem(start, jump, end)


def fastest(run: Callable[[], list[Decoded]], repeats: int) -> tuple[list[Decoded], float]:
    """The result, and the milliseconds per problem of the fastest run; the first also compiles."""
    results = run()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        results = run()
        seconds.append(time.perf_counter() - began)
    return results, 1e3 * min(seconds) / len(results)


def prove(problem: JumpProblem, count: int) -> tuple[list[Decoded], float]:
    """CP-SAT alone, without a hint, on the first problems that fit into the budget."""
    results: list[Decoded] = []
    began = time.perf_counter()
    for instance in instances(problem)[:count]:
        if time.perf_counter() - began > PROOF_BUDGET - PROOF_SECONDS:
            break
        order, bound, precision = prove_path(instance.cost, None, PROOF_SECONDS)
        if order is None:
            results.append(Decoded([], -math.inf, -bound, False))
            continue
        score = instance.decoded(order, -np.inf).score
        results.append(Decoded(order.tolist(), score, -bound, -bound - score <= precision))
    return results, 1e3 * (time.perf_counter() - began) / max(1, len(results))


def compare(kind: str, size: int, quick: bool) -> tuple[list[Row], int]:
    """One row per decoder, and in how many problems a proof of CP-SAT contradicts the search (must be
    none).
    """
    problem = problems(kind, size, 10 if quick else PROBLEMS[size])
    repeats = 1 if quick else 3
    solver = BregmanSolver(temperature=Temperature(), threads=1)

    def hungarian() -> list[Decoded]:
        return decode(problem, "hungarian", log_u=solver.solve(problem).log_u, threads=1)

    runs = {
        "Hungarian": fastest(hungarian, 1),
        "search": fastest(lambda: decode(problem, "search", threads=1), repeats),
        "search, no branching": fastest(lambda: decode(problem, "search", nodes=0, threads=1), 1),
        "exact": fastest(lambda: decode(problem, "exact", threads=1), repeats),
    }
    if size <= 12:
        runs["Held–Karp"] = fastest(lambda: [solve_small(i) for i in instances(problem)], 1)
    if size > 12:
        runs["CP-SAT"] = prove(problem, 2 if quick else PROVED[size])
    tolerance = 1e-7 * size
    known = [
        max(results[b].score for results, _ in runs.values() if b < len(results)) for b in range(problem.batch_size)
    ]
    rows = [
        Row(
            kind,
            size,
            decoder,
            len(results),
            sum(r.score >= k - tolerance for r, k in zip(results, known, strict=False)) / len(results),
            sum(r.proven_optimal for r in results) / len(results),
            milliseconds,
        )
        for decoder, (results, milliseconds) in runs.items()
        if results
    ]
    contradictions = sum(
        proof.proven_optimal and found.proven_optimal and abs(proof.score - found.score) > tolerance
        for proof, found in zip(runs.get("CP-SAT", ([], 0.0))[0], runs["search"][0], strict=False)
    )
    return rows, contradictions


def table(rows: list[Row]) -> Table:
    drawn = Table("scores", "n", "decoder", "problems", "best score", "proven", "ms")
    for column in drawn.columns[3:]:
        column.justify = "right"
    previous: tuple[str, int] | None = None
    for row in rows:
        cell = (row.kind, row.size)
        if previous not in (None, cell):
            drawn.add_section()
        drawn.add_row(
            *(("", "") if cell == previous else (row.kind, str(row.size))),
            row.decoder,
            str(row.problems),
            f"{row.best:.1%}",
            f"{row.proven:.1%}",
            f"{row.milliseconds:.3g}",
        )
        previous = cell
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 problems per cell, 2 proofs: under a minute")
    parser.add_argument("--output", type=Path, default=Path("results/bench_decoding.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    contradictions = 0
    for kind in ("planted", "random"):
        for size in SIZES:
            note(f"{kind}, n = {size}")
            found, contradicted = compare(kind, size, arguments.quick)
            rows += found
            contradictions += contradicted
    out.print(table(rows))
    out.print(f"proofs of CP-SAT that contradict a proof of the search: {contradictions}")
    result = {
        "quick": arguments.quick,
        "proof_seconds": PROOF_SECONDS,
        "contradictions": contradictions,
        "rows": [asdict(row) for row in rows],
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
