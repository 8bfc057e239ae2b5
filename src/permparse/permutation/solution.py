"""What a solver found: the relaxed permutation U, the factors of W, and whether to trust them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from permparse.permutation.problem import JumpProblem


@dataclass(frozen=True)
class Solution:
    """The solution of the relaxed problem for every example of a batch.

    ``log_u`` [B, i, j] is the log weight of token i at position j, -inf in padding and where it is not allowed.
    ``alpha`` [B, i, j] and ``beta`` [B, k, j] factorise W: log W_ijk = jump[k, i] / τ + alpha[i, j] + beta[k, j], j >
    0. ``jump_marginals`` [B, k, i] is Σ_j W_ijk, the weight of i directly following k. ``value`` [B] is the optimal
    value divided by τ. ``residual`` [B] is the largest violation of a constraint, ``sweeps`` [B] the number of Bregman
    sweeps made; ``converged`` [B] says that the residual is within the tolerance, ``feasible`` [B] that some
    permutation respects ``allowed`` (if not: log_u is -inf throughout)."""

    problem: JumpProblem
    temperature: Tensor
    log_u: Tensor
    alpha: Tensor
    beta: Tensor
    jump_marginals: Tensor
    value: Tensor
    residual: Tensor
    sweeps: Tensor
    converged: Tensor
    feasible: Tensor

    @property
    def u(self) -> Tensor:
        """*Shape:* [B, i, j]. The relaxed permutation matrix."""
        return self.log_u.exp()

    def log_w(self) -> Tensor:
        """*Shape:* [B, i, j, k]. log W in full, O(n³) memory: for looking, not for training. -inf at j = 0 and i =
        k."""
        jump = (self.problem.jump.detach() / self.temperature[:, None, None]).transpose(1, 2)
        eye = torch.eye(self.problem.size, dtype=torch.bool, device=jump.device)
        jump = jump.masked_fill(eye, -torch.inf)
        factors = self.alpha[:, :, :, None] + self.beta.transpose(1, 2)[:, None, :, :]
        return torch.where(factors.isinf(), -torch.inf, jump[:, :, None, :] + factors)
