"""Anderson acceleration of the sweeps of a padded batch in torch: `_anderson.py` for many examples at once.

An example whose history is too short, or was forgotten, has columns of zeros in its least-squares problem.
"""

from __future__ import annotations

import torch
from torch import Tensor

from permparse.permutation._anderson import REGULARISATION
from permparse.permutation._sweeps import State

LARGEST_STEP = 1e3
"""Bound on an extrapolated step of a logarithm."""


class History:
    """The differences between the last few residuals f = g(x) - x and images g, the state being log_row, then β.

    *Shapes:* differences_f, differences_g [B, memory, n + n²]; f, g [B, n + n²]; merit [B]; seen and extrapolated [B].
    """

    def __init__(self, memory: int, start: Tensor) -> None:
        batch, size = start.shape
        self.differences_f = start.new_zeros(batch, memory, size)
        self.differences_g = start.new_zeros(batch, memory, size)
        self.f, self.g = torch.zeros_like(start), start
        self.merit = start.new_full((batch,), torch.inf)
        self.seen = torch.zeros(batch, dtype=torch.bool, device=start.device)
        self.extrapolated = torch.zeros_like(self.seen)
        self.count = 0

    @classmethod
    def empty(cls, memory: int, log_row: Tensor, beta: Tensor) -> History:
        return cls(memory, _packed(log_row, beta))

    def next(self, x: State, image: State, log_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Row scales and β to sweep from after the sweep from ``x`` to ``image``; exp ``log_weight`` [B, j, i] tells
        how much each β matters."""
        g = _packed(image.log_row, image.beta)
        root = _packed(torch.zeros_like(image.log_row), 0.5 * log_weight.clamp(max=0.0)).exp()
        f = root * (g - _packed(x.log_row, x.beta))
        # An extrapolation that raised the merit, which a plain step never does, is undone and all is forgotten.
        astray = self.extrapolated & ~(image.value <= self.merit + 1e-12 * self.merit.abs())
        for table in (self.differences_f, self.differences_g):
            table[astray] = 0.0
        newest = self.count % self.differences_f.shape[1]
        usable = (self.seen & ~astray)[:, None]
        self.differences_f[:, newest] = torch.where(usable, f - self.f, 0.0)
        self.differences_g[:, newest] = torch.where(usable, g - self.g, 0.0)
        self.count += 1
        step = torch.where(usable, self._combined(f), 0.0)
        self.f = torch.where(astray[:, None], self.f, f)
        self.g = torch.where(astray[:, None], self.g, g)
        self.merit = torch.where(astray, self.merit, image.value)
        self.seen, self.extrapolated = ~astray, usable[:, 0]
        n = image.log_row.shape[1]
        extrapolated = self.g - step.clamp(-LARGEST_STEP, LARGEST_STEP)
        return extrapolated[:, :n], extrapolated[:, n:].unflatten(1, (n, n))

    def _combined(self, f: Tensor) -> Tensor:
        """ΔG γ with γ = argmin ‖f - ΔF γ‖; 0 where that has no finite solution."""
        gram = self.differences_f @ self.differences_f.transpose(1, 2)
        right = (self.differences_f @ f[..., None])[..., 0]
        diagonal = gram.diagonal(dim1=1, dim2=2)
        ridge = REGULARISATION * diagonal.sum(1, keepdim=True) + (diagonal == 0)
        factor, info = torch.linalg.cholesky_ex(gram + torch.diag_embed(ridge))
        gamma = torch.cholesky_solve(right[..., None], factor)
        good = (info == 0)[:, None] & gamma[..., 0].isfinite().all(1, keepdim=True)
        return torch.where(good, (self.differences_g.transpose(1, 2) @ gamma.nan_to_num())[..., 0], 0.0)


def _packed(log_row: Tensor, beta: Tensor) -> Tensor:
    return torch.cat([log_row, beta.flatten(1)], 1)
