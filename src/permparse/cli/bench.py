"""`permparse bench`: how fast the permutation layer and its decoder are on this machine."""

from __future__ import annotations

import json as json_module
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from permparse.base.console import err, out

if TYPE_CHECKING:
    from torch import Tensor

    from permparse.permutation import JumpProblem

TEXTBOOK_LIMIT = 40
"""Above this many tokens the textbook algorithm needs gigabytes."""


@dataclass(frozen=True)
class Timing:
    """Seconds for a training step of the layer and of the textbook algorithm (None: not run), and to decode
    a problem."""

    tokens: int
    layer: float
    textbook: float | None
    decode: float


def command(
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=2, max=500, help="Number of tokens; may be repeated.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=256, help="Problems in a batch.")] = 4,
    sweeps: Annotated[int, typer.Option("--sweeps", min=1, max=3000, help="Sweeps of each solve.")] = 30,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Time decoding and one training step of the layer, compared with the textbook algorithm, on this machine.

    A step is two solves (free, and constrained to the gold tokens) and the gradient. The full benchmarks, with
    memory and convergence, are the scripts in `benchmarks/`.

    [bold]Examples[/]

      permparse bench

      permparse bench --size 20 --size 80 --json
    """
    from permparse.permutation import BregmanSolver, checked_permutation_loss
    from permparse.permutation.decoding import decode
    from permparse.permutation.temperature import Temperature

    solver = BregmanSolver(temperature=Temperature(), tolerance=0.0, max_sweeps=sweeps, memory=0)
    timings = []
    for size in sizes or [10, 20, 40]:
        problem = _problem(batch, size)
        gold = _gold(problem)

        def layer_step(problem: JumpProblem = problem, gold: Tensor = gold) -> None:
            checked_permutation_loss(problem, gold, solver).value.sum().backward()  # so few sweeps are no mistake here

        textbook = None
        if size <= TEXTBOOK_LIMIT:
            with err.status(f"textbook algorithm, n = {size}"):
                textbook = _seconds(partial(_textbook_step, problem, gold, sweeps), repeat=1)
        decoding = _seconds(partial(decode, problem)) / batch
        timings.append(Timing(size, _seconds(layer_step), textbook, decoding))
    if json:
        rows = [asdict(timing) for timing in timings]
        out.print(json_module.dumps({"batch": batch, "sweeps": sweeps, "seconds": rows}), markup=False)
        return
    table = Table("tokens", "layer, ms per step", "textbook", "faster", "decode, ms per problem", box=None)
    for row in timings:
        slow = row.textbook
        table.add_row(
            str(row.tokens),
            f"{1000 * row.layer:,.1f}",
            f"{1000 * slow:,.1f}" if slow else "–",
            f"{slow / row.layer:.0f}×" if slow else "–",
            f"{1000 * row.decode:.2f}",
        )
    out.print(table)


def _problem(batch: int, size: int) -> JumpProblem:
    """Random scores that favour the order 0, 1, 2, ..."""
    import torch

    from permparse.permutation import JumpProblem

    generator = torch.Generator().manual_seed(size)
    jump = torch.randn(batch, size, size, generator=generator, dtype=torch.float64)
    jump = jump + 3 * torch.diag(torch.ones(size - 1, dtype=torch.float64), 1)
    start, end = torch.randn(2, batch, size, generator=generator, dtype=torch.float64)
    return JumpProblem(start.requires_grad_(), jump.requires_grad_(), end.requires_grad_())


def _gold(problem: JumpProblem) -> Tensor:
    """Two tokens of each type, in the order 0, 1, 2, ..."""
    import torch

    types = torch.arange(problem.size) // 2
    return (types[:, None] == types).expand(problem.batch_size, -1, -1)


def _textbook_step(problem: JumpProblem, gold: Tensor, sweeps: int) -> None:
    import torch

    from permparse.permutation.textbook import textbook_solve

    tau = 1 / math.log(problem.size)
    scores = problem.start, problem.jump, problem.end
    log_u, log_w = textbook_solve(*scores, tau, sweeps)
    gold_u, gold_w = textbook_solve(*scores, tau, sweeps, gold)
    loss = torch.zeros((), dtype=torch.float64)
    for bound, free in ((gold_u, log_u), (gold_w, log_w)):
        used = bound > -torch.inf
        loss = loss + (bound[used].exp() * (bound[used] - free[used])).sum()
    loss.backward()


def _seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """The best of some runs, after one that warms up (and compiles) unless there is only one."""
    if repeat > 1:
        work()
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
