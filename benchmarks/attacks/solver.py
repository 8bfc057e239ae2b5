"""Random permutation problems, extreme ones among them: solver, loss and decoder give finite, consistent answers."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import torch

from attacks.verdict import FAULT, Section
from permparse.permutation import BregmanSolver, JumpProblem, decode, permutation_loss

LARGEST = 12
BATCH = 50
SCALES = (0.0, 1e-3, 1.0, 10.0, 100.0, 1000.0)
STOCHASTIC = 1e-3
"""How far sums of a converged solution may be from 1."""


def attack_solver(count: int, scratch: Path) -> Section:
    """Problems in batches of one kind: scores of some scale, with or without position scores, masks, padding, in either
    precision, at some temperature."""
    del scratch
    section, chance = Section(), random.Random(0)
    while section.verdicts.total() < count:
        number = section.verdicts.total()
        kind = _Kind(chance)
        problem, allowed = kind.problem(number)
        try:
            faults = _faults(problem, allowed, kind)
        except Exception as error:
            faults = [f"raw {type(error).__name__}: {error}"] * len(problem)
        for example, fault in enumerate(faults):
            what, _, detail = fault.partition(": ")
            section.add(f"problem {number + example}: {kind}", f"{FAULT}{what}" if fault else "holds", detail)
    return section


class _Kind:
    """What the problems of a batch have in common."""

    def __init__(self, chance: random.Random) -> None:
        self.scale, self.position_scale = chance.choice(SCALES), chance.choice((None, *SCALES))
        self.masked, self.backend = chance.random() < 0.5, chance.choice(["cpu", "cpu", "torch"])
        self.dtype = chance.choice([torch.float32, torch.float64])
        self.temperature = chance.choice([1.0, 0.3, 0.1])

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in vars(self).items())

    def problem(self, seed: int) -> tuple[JumpProblem, torch.Tensor]:
        """A batch with a mask that permits at least one order of every example."""
        generator = torch.Generator().manual_seed(seed)

        def noise(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=self.dtype)

        lengths = torch.randint(1, LARGEST + 1, (BATCH,), generator=generator)
        start, jump, end = (self.scale * noise(BATCH, *shape) for shape in ((LARGEST,), (LARGEST, LARGEST), (LARGEST,)))
        position = None if self.position_scale is None else self.position_scale * noise(BATCH, LARGEST, LARGEST)
        allowed = torch.rand((BATCH, LARGEST, LARGEST), generator=generator) < (0.3 if self.masked else 2.0)
        for example, n in enumerate(lengths.tolist()):
            allowed[example, torch.arange(n), torch.randperm(n, generator=generator)] = True
        return JumpProblem(start, jump, end, lengths, position=position), allowed


def _faults(problem: JumpProblem, allowed: torch.Tensor, kind: _Kind) -> list[str]:
    """What is wrong with the answers to each example; nothing if all is well."""
    solver = BregmanSolver(kind.temperature, max_sweeps=300, backend=kind.backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an approximate loss says so; here it must be finite all the same
        loss = permutation_loss(problem, allowed, solver)
    solution = solver.solve(problem.with_allowed(allowed) if kind.masked else problem)
    orders = decode(problem.with_allowed(allowed) if kind.masked else problem)
    faults = []
    for example, (n, u) in enumerate(zip(problem.lengths.tolist(), solution.u, strict=True)):
        inside = u[:n, :n].double()
        sums = torch.cat([inside.sum(0), inside.sum(1)])
        order = list(orders[example].order)
        fault = ""
        if not torch.isfinite(inside).all():
            fault = "NaN in U"
        elif bool(solution.converged[example]) and float((sums - 1).abs().max()) > STOCHASTIC:
            fault = f"sums of U: {sums.tolist()}"
        elif not torch.isfinite(loss[example]) or float(loss[example]) < 0:
            fault = f"loss: {float(loss[example])}"
        elif sorted(order) != list(range(n)):
            fault = f"no permutation: {order}"
        elif kind.masked and not all(allowed[example, token, place] for place, token in enumerate(order)):
            fault = f"not allowed: {order}"
        faults.append(fault)
    return faults
