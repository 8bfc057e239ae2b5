"""What a solver found: the relaxed permutation U, the factors of W, and whether to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from permparse.permutation.problem import JumpProblem

SHOWN = 2
"""Examples that a notebook shows."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of the relaxed problem for every example of a batch.

    Where no permutation respects ``allowed``, log_u is -inf throughout and ``feasible`` False."""

    problem: JumpProblem
    temperature: Float[Tensor, " B"]
    """τ of each example."""
    log_u: Float[Tensor, "B N N"]
    """Log weight of token i at position j; -inf in padding and where it is not allowed."""
    alpha: Float[Tensor, "B N N"]
    """Factor [i, j] of W: log W_ijk = jump[k, i] / τ + alpha[i, j] + beta[k, j] for j > 0."""
    beta: Float[Tensor, "B N N"]
    """Factor [k, j] of W."""
    jump_marginals: Float[Tensor, "B N N"]
    """Σ_j W_ijk at [k, i]: the weight of i directly following k."""
    value: Float[Tensor, " B"]
    """The optimal value divided by τ; an upper bound on it until the sweeps converge."""
    residual: Float[Tensor, " B"]
    """The largest violation of a constraint."""
    sweeps: Int[Tensor, " B"]
    """The number of Bregman sweeps made."""
    converged: Bool[Tensor, " B"]
    """The residual is within the tolerance."""
    feasible: Bool[Tensor, " B"]
    """Some permutation respects ``allowed``."""

    @property
    def u(self) -> Float[Tensor, "B N N"]:
        """The relaxed permutation matrix [B, i, j]."""
        return self.log_u.exp()

    def log_w(self) -> Float[Tensor, "B N N N"]:
        """log W [B, i, j, k] in full, O(n³) memory: for looking, not for training. -inf at j = 0 and i = k."""
        jump = (self.problem.jump.detach() / self.temperature[:, None, None]).transpose(1, 2)
        eye = torch.eye(self.problem.size, dtype=torch.bool, device=jump.device)
        jump = jump.masked_fill(eye, -torch.inf)
        factors = self.alpha[:, :, :, None] + self.beta.transpose(1, 2)[:, None, :, :]
        return torch.where(factors.isinf(), -torch.inf, jump[:, :, None, :] + factors)

    def at(self, examples: Sequence[int], size: int) -> Solution:
        """The part of a batch with these examples, none of them longer than ``size``."""
        where = torch.tensor(examples, device=self.log_u.device)
        tensors = {f.name: _cut(getattr(self, f.name)[where], size) for f in fields(self) if f.name != "problem"}
        return replace(self, problem=self.problem.at(examples, size), **tensors)

    def updated(self, examples: Sequence[int], part: Solution) -> Solution:
        """The batch with ``part`` in the place of these examples."""
        values = {f.name: getattr(self, f.name).clone() for f in fields(self) if f.name != "problem"}
        for name, tensor in values.items():
            new = getattr(part, name).to(tensor.dtype)
            inside = tuple(slice(size) for size in new.shape[1:])
            for row, b in enumerate(examples):
                tensor[(b, *inside)] = new[row]
        return replace(self, **values)

    def _repr_html_(self) -> str:
        """U and the jump marginals of the first examples as heat maps; for notebooks."""
        from permparse.drawing import heat_map

        maps = []
        for b, n in enumerate(self.problem.sizes()[:SHOWN]):
            tokens, positions = [f"token {i}" for i in range(n)], [str(j + 1) for j in range(n)]
            state = "converged" if bool(self.converged[b]) else f"residual {float(self.residual[b]):.1e}"
            u, jumps = self.u[b, :n, :n].tolist(), self.jump_marginals[b, :n, :n].tolist()
            maps.append(heat_map(f"U of example {b} ({state})", u, tokens, positions, adaptive=True))
            maps.append(heat_map(f"jumps of example {b}", jumps, tokens, tokens, adaptive=True))
        rest = len(self.problem) - SHOWN
        return "\n".join([*maps, f"<p>and {rest} more examples</p>" if rest > 0 else ""])


def _cut(tensor: Tensor, size: int) -> Tensor:
    return tensor[:, :size, :size] if tensor.dim() == 3 else tensor
