"""Bregman's method for the relaxed permutation (Algorithm 1 of the paper), factorised so that W never exists."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from permparse.permutation import _cpu, _dense
from permparse.permutation._batched import solve_accelerated, solve_plainly
from permparse.permutation._newton import polished, sweeps_before
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution
from permparse.permutation.temperature import Temperature


@dataclass(frozen=True)
class BregmanSolver:
    """Solves, for every example of a batch and with s(i↦j) the start, end and position scores,

        maximise    Σ U_ij s(i↦j) + Σ W_ijk s(k↷i) + τ (H(U) + H(W))
        subject to  Σ_i U_ij = Σ_j U_ij = 1,  Σ_k W_ijk = U_ij,  Σ_i W_ijk = U_k,j-1   for j > 1.

    Cost: two n×n matrix products per sweep, O(n²) memory. Where 600 accelerated sweeps do not suffice, as at low
    temperatures, Newton's method takes over for up to 160 tokens: O(n³) memory, and each of its steps counts as 2n
    sweeps. Arguments are never changed.
    Gradients: `solve` gives none; see `permutation_loss` for training and `JumpPermutation` for U as a layer.
    If ``Solution.converged`` says that it did not converge, raise ``max_sweeps`` or the temperature.
    """

    temperature: Temperature | float = field(default_factory=Temperature)
    """τ as a function of n; a plain number is a constant τ."""
    tolerance: float = 1e-6
    """Stop when no constraint is violated by more than this; 0 makes exactly ``max_sweeps`` sweeps."""
    max_sweeps: int = 1000
    memory: int = 8
    """Earlier sweeps used by Anderson acceleration; 0 is the plain method of the paper."""
    cooling: bool = True
    """Reach low temperatures through higher ones where scores / τ are large."""
    backend: Literal["auto", "cpu", "torch"] = "auto"
    """"cpu": numba, float64, example by example; "torch": batched, on the problem's device and in its dtype.
    "auto" takes "cpu" for tensors on the CPU."""
    threads: int | None = None
    """Threads of the "cpu" backend; by default torch's number of threads."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", Temperature.of(self.temperature))
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise ValueError(f"tolerance: expected a number ≥ 0, got {self.tolerance}")
        if self.max_sweeps < 1:
            raise ValueError(f"max_sweeps: expected at least 1, got {self.max_sweeps}")
        if self.memory < 0:
            raise ValueError(f"memory: expected 0 or more earlier sweeps, got {self.memory}")
        if self.backend not in ("auto", "cpu", "torch"):
            raise ValueError(f"backend: expected auto, cpu or torch, got {self.backend!r}")

    def temperatures(self, problem: JumpProblem) -> Float[Tensor, " B"]:
        """τ for each example."""
        return torch.tensor(
            [Temperature.of(self.temperature)(n) for n in problem.sizes()],
            dtype=problem.jump.dtype,
            device=problem.jump.device,
        )

    def solve(self, problem: JumpProblem) -> Solution:
        """The relaxed permutation of each example, without gradient; in float32 if scores are in half precision."""
        problem = problem.widened()
        on_cpu = self.backend == "cpu" or (self.backend == "auto" and problem.jump.device.type == "cpu")
        with torch.no_grad():
            if not on_cpu and self.memory == 0:
                return solve_plainly(problem, self.temperatures(problem), self.tolerance, self.max_sweeps)
            newton = self.memory > 0 and self.tolerance > 0
            sweeps = [sweeps_before(n, self.max_sweeps) if newton else self.max_sweeps for n in problem.sizes()]
            solution, log_row = (self._solve_on_cpu if on_cpu else self._solve_in_torch)(problem, sweeps)
            return polished(solution, log_row, self.tolerance, self.max_sweeps) if newton else solution

    def _solve_in_torch(self, problem: JumpProblem, sweeps: list[int]) -> tuple[Solution, Tensor]:
        limits = torch.tensor(sweeps, dtype=torch.int64, device=problem.jump.device)
        tau = self.temperatures(problem)
        return solve_accelerated(problem, tau, self.tolerance, limits, self.memory, self.cooling)

    def _solve_on_cpu(self, problem: JumpProblem, sweeps: list[int]) -> tuple[Solution, Tensor]:
        def array(tensor: Tensor) -> np.ndarray:
            return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float64)

        tau = Temperature.of(self.temperature)
        temperature = np.array([tau(n) for n in problem.sizes()], np.float64)
        result = _cpu.solve_batch(
            array(problem.start),
            array(problem.jump),
            array(problem.end),
            None if problem.position is None else array(problem.position),
            None if problem.allowed is None else problem.allowed.cpu().numpy(),
            np.array(problem.sizes(), np.int64),
            temperature,
            np.array(sweeps, np.int64),
            _cpu.Settings(self.tolerance, self.memory, self.cooling),
            self.threads or torch.get_num_threads(),
        )
        device = problem.jump.device

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(device, problem.jump.dtype)

        solution = Solution(
            problem=problem,
            temperature=tensor(temperature),
            log_u=tensor(result.log_u),
            alpha=tensor(result.alpha),
            beta=tensor(result.beta),
            jump_marginals=tensor(result.jump_marginals),
            value=tensor(result.value),
            residual=tensor(result.residual),
            sweeps=torch.from_numpy(result.sweeps).to(device),
            converged=torch.from_numpy(result.status == _dense.CONVERGED).to(device),
            feasible=torch.from_numpy(result.status != _cpu.INFEASIBLE).to(device),
        )
        return solution, tensor(result.log_row)
