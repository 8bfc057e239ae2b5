"""One training step of the permutation layer compared with the textbook algorithm, and what acceleration adds.

    python benchmarks/solver.py [--quick] [--only convergence] [--output results/bench_solver.json]

A step is the prior, the posterior (tokens of n/2 types, so about two places each) and the gradient of all scores, in
float64. The textbook materialises W and differentiates through its sweeps; where its memory would not fit, its batch
is worked off in parts. Both make 150 sweeps. All times are CPU seconds of one process with one
thread; each peak of memory is measured in a process of its own, over that process's state before the step.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy and scipy load their BLAS

import argparse
import json
import math
import multiprocessing
import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from rich.table import Table

from permparse.base.console import note, out
from permparse.permutation import BregmanSolver, JumpProblem, Temperature, permutation_loss
from permparse.permutation.textbook import textbook_solve

SWEEPS = 150
FIXED = BregmanSolver(tolerance=0.0, max_sweeps=SWEEPS, memory=0, cooling=False, threads=1)
BATCHES = {10: 32, 20: 32, 40: 32, 80: 8}
TEXTBOOK_PARTS = {10: 32, 20: 32, 40: 4, 80: 1}
"""Examples the textbook works on at a time."""
EXPONENT_SIZES = (20, 40, 80, 160)
LIMIT_SIZES = (30, 80, 160, 320)
LARGE = 500


@dataclass
class Step:
    """One size of the training step; CPU seconds, the best of several, for the whole batch."""

    size: int
    batch: int
    seconds: float
    seconds_default: float
    """With early stopping and acceleration, the defaults of `BregmanSolver`."""
    textbook_seconds: float
    megabytes: float
    """Peak above the process's state before, for a batch of ``memory_batch``."""
    textbook_megabytes: float
    memory_batch: int

    @property
    def speedup(self) -> float:
        return self.textbook_seconds / self.seconds


@dataclass
class Sweeps:
    """Sweeps to a residual of 1e-6 over random and planted problems."""

    temperature: str
    problems: int
    plain_median: float
    plain_worst: int
    plain_converged: int
    accelerated_median: float
    accelerated_worst: int
    accelerated_converged: int
    plain_milliseconds: float
    accelerated_milliseconds: float


@dataclass
class Limit:
    """A sweep beside the least that it has to do: two products of n×n matrices by BLAS. CPU microseconds."""

    size: int
    sweep: float
    products: float

    @property
    def ratio(self) -> float:
        return self.sweep / self.products


@dataclass
class Report:
    """All that is written to the JSON file."""

    sweeps_per_solve: int = SWEEPS
    steps: list[Step] = field(default_factory=list)
    exponent: float = 0.0
    """Slope of log time over log n between the sizes of ``exponent_sizes``."""
    exponent_sizes: list[int] = field(default_factory=list)
    large_size: int = LARGE
    large_seconds: float = 0.0
    large_megabytes: float = 0.0
    limits: list[Limit] = field(default_factory=list)
    convergence: list[Sweeps] = field(default_factory=list)


def training_batch(size: int, batch: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Start, jump and end scores that want a gradient, and the cells that a target of n/2 types allows."""
    generator = torch.Generator().manual_seed(size)
    shapes = ((batch, size), (batch, size, size), (batch, size))
    scores = [torch.randn(*s, dtype=torch.float64, generator=generator).requires_grad_() for s in shapes]
    kinds = torch.arange(size) // 2
    target = torch.stack([kinds[torch.randperm(size, generator=generator)] for _ in range(batch)])
    return scores, kinds[None, :, None] == target[:, None, :]


def our_step(scores: list[torch.Tensor], allowed: torch.Tensor, solver: BregmanSolver) -> None:
    permutation_loss(JumpProblem(*scores), allowed, solver).sum().backward()


def textbook_step(scores: list[torch.Tensor], allowed: torch.Tensor, part: int) -> None:
    start, jump, end = scores
    temperature = Temperature()(start.shape[1])
    for at in range(0, len(start), part):
        some = slice(at, at + part)
        prior = textbook_solve(start[some], jump[some], end[some], temperature, SWEEPS)
        posterior = textbook_solve(start[some], jump[some], end[some], temperature, SWEEPS, allowed[some])
        loss = torch.zeros((), dtype=torch.float64)
        for log_p, log_q in zip(posterior, prior, strict=True):
            used = log_p > -torch.inf
            p, q = torch.where(used, log_p, 0.0), torch.where(used, log_q, 0.0)
            loss = loss + torch.where(used, p.exp() * (p - q), 0.0).sum()
        loss.backward()


def best_time(action, repeats: int) -> float:
    best = math.inf
    for _ in range(repeats):
        begin = time.process_time()
        action()
        best = min(best, time.process_time() - begin)
    return best


def _kilobytes(field: str) -> int:
    """VmRSS (now) or VmHWM (peak) of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _peak(queue, size: int, batch: int, textbook: bool) -> None:
    torch.set_num_threads(1)
    small, small_allowed = training_batch(4, 1)
    our_step(small, small_allowed, FIXED)  # compile and load first
    scores, allowed = training_batch(size, batch)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _kilobytes("VmRSS")
    if textbook:
        textbook_step(scores, allowed, batch)
    else:
        our_step(scores, allowed, FIXED)
    queue.put((_kilobytes("VmHWM") - before) / 1024)


def peak_megabytes(size: int, batch: int, textbook: bool) -> float:
    """How far one step raises the peak memory of a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_peak, args=(queue, size, batch, textbook))
    child.start()
    child.join()
    return queue.get() if child.exitcode == 0 else math.nan


def measure_steps(report: Report, sizes: list[int], repeats: int) -> None:
    for size in sizes:
        note(f"training step, n = {size}")
        batch, part = BATCHES[size], TEXTBOOK_PARTS[size]
        scores, allowed = training_batch(size, batch)
        ours = best_time(lambda s=scores, a=allowed: our_step(s, a, FIXED), repeats)
        default = best_time(lambda s=scores, a=allowed: our_step(s, a, BregmanSolver(threads=1)), repeats)
        slow = best_time(lambda s=scores, a=allowed, p=part: textbook_step(s, a, p), 3 if size < 40 else 1)
        memory_batch = min(part, 4)
        report.steps.append(
            Step(
                size=size,
                batch=batch,
                seconds=ours,
                seconds_default=default,
                textbook_seconds=slow,
                megabytes=peak_megabytes(size, memory_batch, textbook=False),
                textbook_megabytes=peak_megabytes(size, memory_batch, textbook=True),
                memory_batch=memory_batch,
            )
        )


def measure_growth(report: Report, sizes: tuple[int, ...]) -> None:
    times = []
    for size in sizes:
        note(f"growth, n = {size}")
        scores, allowed = training_batch(size, 2)
        times.append(best_time(lambda s=scores, a=allowed: our_step(s, a, FIXED), 3))
    logs = [(math.log(n), math.log(t)) for n, t in zip(sizes, times, strict=True)]
    report.exponent_sizes = list(sizes)
    report.exponent = statistics.linear_regression(*zip(*logs, strict=True)).slope


def measure_limits(report: Report, sizes: tuple[int, ...], repeats: int) -> None:
    for size in sizes:
        note(f"sweeps beside their products, n = {size}")
        scores, _ = training_batch(size, 1)
        problem = JumpProblem(*scores).detach()
        x, y = np.random.default_rng(size).random((2, size, size))
        product = np.empty((size - 1, size))

        def products(x=x, y=y, product=product) -> None:
            for _ in range(2 * SWEEPS):
                np.dot(x[1:], y, product)

        sweep = best_time(lambda p=problem: FIXED.solve(p), repeats) / SWEEPS
        report.limits.append(Limit(size, 1e6 * sweep, 1e6 * best_time(products, repeats) / SWEEPS))


def convergence_problem(index: int) -> JumpProblem:
    """n from 8 to 30, standard normal scores; every other problem favours a hidden order by 4."""
    generator = torch.Generator().manual_seed(index)
    n = int(torch.randint(8, 31, (1,), generator=generator))
    start, jump, end = (torch.randn(1, *s, dtype=torch.float64, generator=generator) for s in ((n,), (n, n), (n,)))
    if index % 2:
        order = torch.randperm(n, generator=generator)
        start[0, order[0]] += 4
        jump[0, order[:-1], order[1:]] += 4
        end[0, order[-1]] += 4
    return JumpProblem(start, jump, end)


def measure_convergence(report: Report, count: int, limit: int) -> None:
    for name, temperature in (("1 / log n", Temperature()), ("1 / (10 log² n)", Temperature(0.1, 2))):
        note(f"sweeps at temperature {name}")
        problems = [convergence_problem(i) for i in range(count)]
        found = {}
        for label, memory in (("plain", 0), ("accelerated", BregmanSolver.memory)):
            solver = BregmanSolver(temperature, max_sweeps=limit, memory=memory, cooling=memory > 0, threads=1)
            begin = time.process_time()
            solutions = [solver.solve(p) for p in problems]
            milliseconds = 1e3 * (time.process_time() - begin) / count
            sweeps = [int(s.sweeps) for s in solutions]
            found[label] = (sweeps, sum(bool(s.converged) for s in solutions), milliseconds)
        (plain, plain_good, plain_ms), (fast, fast_good, fast_ms) = found["plain"], found["accelerated"]
        report.convergence.append(
            Sweeps(
                temperature=name,
                problems=count,
                plain_median=statistics.median(plain),
                plain_worst=max(plain),
                plain_converged=plain_good,
                accelerated_median=statistics.median(fast),
                accelerated_worst=max(fast),
                accelerated_converged=fast_good,
                plain_milliseconds=plain_ms,
                accelerated_milliseconds=fast_ms,
            )
        )


def show(report: Report) -> None:
    show_steps(report)
    show_convergence(report)


def show_steps(report: Report) -> None:
    if not report.steps:
        return
    table = Table(title=f"One training step, {SWEEPS} sweeps for each solve, CPU milliseconds for the batch")
    for column in ("n", "batch", "ours", "textbook", "speed-up", "ours with early stop and acceleration"):
        table.add_column(column, justify="right")
    for s in report.steps:
        speedup, default = f"{s.speedup:.0f}×", f"{1e3 * s.seconds_default:.1f}"
        table.add_row(
            str(s.size), str(s.batch), f"{1e3 * s.seconds:.1f}", f"{1e3 * s.textbook_seconds:.0f}", speedup, default
        )
    out.print(table)
    table = Table(title="Peak memory of that step, MB")
    for column in ("n", "batch", "ours", "textbook", "less"):
        table.add_column(column, justify="right")
    for s in report.steps:
        less = f"{s.textbook_megabytes / s.megabytes:.0f}×" if s.megabytes > 0 else "–"
        table.add_row(str(s.size), str(s.memory_batch), f"{s.megabytes:.1f}", f"{s.textbook_megabytes:.0f}", less)
    out.print(table)
    out.print(f"Time grows as n^{report.exponent:.2f} over n = {report.exponent_sizes}.")
    if report.large_seconds:
        out.print(f"n = {LARGE}: {report.large_seconds:.1f} s and {report.large_megabytes:.0f} MB for one example.")


def show_convergence(report: Report) -> None:
    table = Table(title="One sweep, CPU microseconds")
    for column in ("n", "sweep", "two BLAS products", "times its two BLAS products"):
        table.add_column(column, justify="right")
    for limit in report.limits:
        table.add_row(str(limit.size), f"{limit.sweep:.1f}", f"{limit.products:.1f}", f"{limit.ratio:.2f}")
    out.print(table)
    table = Table(title="Sweeps to a residual of 1e-6: plain → accelerated (a Newton step counts as 2n sweeps)")
    for column in ("temperature", "median", "worst", "converged", "ms per problem"):
        table.add_column(column, justify="right")
    for c in report.convergence:
        table.add_row(
            c.temperature,
            f"{c.plain_median:.0f} → {c.accelerated_median:.0f}",
            f"{c.plain_worst} → {c.accelerated_worst}",
            f"{c.plain_converged} → {c.accelerated_converged} of {c.problems}",
            f"{c.plain_milliseconds:.2f} → {c.accelerated_milliseconds:.2f}",
        )
    out.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only, about a minute")
    parser.add_argument("--only", choices=["convergence", "limits"], help="measure this alone; the file keeps the rest")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warm, warm_allowed = training_batch(4, 1)
    our_step(warm, warm_allowed, BregmanSolver(threads=1))

    report = Report()
    if arguments.only is None:
        measure_steps(report, [10, 20] if arguments.quick else list(BATCHES), 5)
        measure_growth(report, EXPONENT_SIZES[:3] if arguments.quick else EXPONENT_SIZES)
    if arguments.only is None and not arguments.quick:
        note(f"one example of n = {LARGE}")
        scores, allowed = training_batch(LARGE, 1)
        report.large_seconds = best_time(lambda: our_step(scores, allowed, FIXED), 1)
        report.large_megabytes = peak_megabytes(LARGE, 1, textbook=False)
    if arguments.only != "convergence":
        measure_limits(report, LIMIT_SIZES[:2] if arguments.quick else LIMIT_SIZES, 5)
    if arguments.only != "limits":
        measure_convergence(report, 20 if arguments.quick else 200, 3000)
    show(report)
    if arguments.output:
        found = asdict(report)
        if arguments.only and arguments.output.is_file():  # keep what was not measured now
            found = json.loads(arguments.output.read_text()) | {arguments.only: found[arguments.only]}
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")
        note(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
