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
from permparse.permutation._batched import solve_batched
from permparse.permutation.problem import JumpProblem
from permparse.permutation.solution import Solution
from permparse.permutation.temperature import Temperature


@dataclass(frozen=True)
class BregmanSolver:
    """Solves, for every example of a batch and with s(i↦j) the start, end and position scores,

        maximise    Σ U_ij s(i↦j) + Σ W_ijk s(k↷i) + τ (H(U) + H(W))
        subject to  Σ_i U_ij = Σ_j U_ij = 1,  Σ_k W_ijk = U_ij,  Σ_i W_ijk = U_k,j-1   for j > 1.

    Cost: two n×n matrix products per sweep, O(n²) memory. Arguments are never changed.
    Gradients: `solve` gives none; see `permutation_loss` for training and `JumpPermutation` for U as a layer.
    If ``Solution.converged`` says that it did not converge, raise ``max_sweeps`` or the temperature.
    """

    temperature: Temperature | float = field(default_factory=Temperature)
    """τ as a function of n; a plain number is a constant τ."""
    tolerance: float = 1e-6
    """Stop when no constraint is violated by more than this; 0 makes exactly ``max_sweeps`` sweeps."""
    max_sweeps: int = 1000
    memory: int = 8
    """Earlier sweeps used by Anderson acceleration; 0 is the plain method of the paper, as "torch" always is."""
    cooling: bool = True
    """Reach low temperatures through higher ones where scores / τ are large ("cpu" only)."""
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
        with torch.no_grad():
            on_cpu = problem.jump.device.type == "cpu"
            if self.backend == "cpu" or (self.backend == "auto" and on_cpu):
                return self._solve_on_cpu(problem)
            return solve_batched(problem, self.temperatures(problem), self.tolerance, self.max_sweeps)

    def _solve_on_cpu(self, problem: JumpProblem) -> Solution:
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
            _cpu.Settings(self.tolerance, self.max_sweeps, self.memory, self.cooling),
            self.threads or torch.get_num_threads(),
        )
        device = problem.jump.device

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(device, problem.jump.dtype)

        return Solution(
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
