"""A batch of jump problems: which order of n tokens has the best start, jump and end scores (equation 4 of the paper).

The problem only states scores; `permparse.permutation.BregmanSolver` relaxes it, `permparse.permutation.decode` solves
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class JumpProblem:
    """Find the order ``o`` of n tokens that maximises

        start[o_1] + jump[o_1, o_2] + ... + jump[o_{n-1}, o_n] + end[o_n]   (+ Σ_j position[o_j, j])

    for every example of a batch. Entries beyond an example's length are never read.

    Shapes: ``start`` and ``end`` [B, N]; ``jump`` [B, N, N], where ``jump[b, k, i]`` scores i directly following k and
    the diagonal is ignored; ``lengths`` [B] (all N if omitted); ``allowed`` [B, N, N] boolean, token i may stand at
    position j (everywhere if omitted); ``position`` [B, N, N], an optional score of token i at position j."""

    start: Tensor
    jump: Tensor
    end: Tensor
    lengths: Tensor | None = None
    allowed: Tensor | None = None
    position: Tensor | None = None

    def __post_init__(self) -> None:
        if self.jump.dim() != 3 or self.jump.shape[1] != self.jump.shape[2]:
            raise ValueError(f"jump: expected shape [B, N, N], got {list(self.jump.shape)}")
        batch, size = self.jump.shape[0], self.jump.shape[2]
        if not self.jump.dtype.is_floating_point:
            raise ValueError(f"jump: expected a floating-point tensor, got {self.jump.dtype}")
        for name, shape in (
            ("start", (batch, size)),
            ("end", (batch, size)),
            ("position", (batch, size, size)),
            ("allowed", (batch, size, size)),
            ("lengths", (batch,)),
        ):
            tensor = getattr(self, name)
            if tensor is None:
                continue
            if tuple(tensor.shape) != shape:
                raise ValueError(f"{name}: expected shape {list(shape)}, got {list(tensor.shape)}")
            if name in ("start", "end", "position") and tensor.dtype != self.jump.dtype:
                raise ValueError(f"{name}: expected the dtype of jump, {self.jump.dtype}, got {tensor.dtype}")
        if self.allowed is not None and self.allowed.dtype != torch.bool:
            raise ValueError(f"allowed: expected a boolean tensor, got {self.allowed.dtype}")
        if self.lengths is None:
            full = torch.full((batch,), size, dtype=torch.int64, device=self.jump.device)
            object.__setattr__(self, "lengths", full)
        elif batch and (int(self.lengths.min()) < 0 or int(self.lengths.max()) > size):
            raise ValueError(f"lengths: expected values from 0 to {size}, got {self.lengths.tolist()}")
        self._require_finite_scores()

    def _require_finite_scores(self) -> None:
        inside = self.token_mask
        pairs = inside[:, :, None] & inside[:, None, :]
        off_diagonal = pairs & ~torch.eye(self.size, dtype=torch.bool, device=pairs.device)
        checks = [("start", self.start, inside), ("end", self.end, inside), ("jump", self.jump, off_diagonal)]
        if self.position is not None:
            checks.append(("position", self.position, pairs))
        for name, tensor, used in checks:
            bad = used & ~torch.isfinite(tensor.detach())
            if bool(bad.any()):
                where = bad.nonzero()[0].tolist()
                value = tensor[tuple(where)].item()
                raise ValueError(f"{name}{where}: expected a finite score, got {value}; use `allowed` to exclude cells")

    @property
    def batch_size(self) -> int:
        return self.jump.shape[0]

    @property
    def size(self) -> int:
        """N, the padded number of tokens."""
        return self.jump.shape[2]

    @property
    def token_mask(self) -> Tensor:
        """*Shape:* [B, N]. True where there is a token."""
        assert self.lengths is not None
        return torch.arange(self.size, device=self.jump.device) < self.lengths.to(self.jump.device)[:, None]

    def sizes(self) -> list[int]:
        """The number of tokens of each example."""
        assert self.lengths is not None
        return [int(n) for n in self.lengths.tolist()]

    def with_allowed(self, allowed: Tensor | None) -> JumpProblem:
        """The same scores, restricted to the orders in which every token stands where ``allowed`` lets it."""
        return replace(self, allowed=allowed)

    def score(self, order: Tensor | Sequence[Sequence[int]]) -> Tensor:
        """The score of one order per example: ``order[b, j]`` is the token at position j; entries beyond the length
        are ignored.

        Differentiable in the scores. *Shape:* [B].
        """
        if not isinstance(order, Tensor):
            padded = [list(o) + [0] * (self.size - len(o)) for o in order]
            order = torch.tensor(padded, dtype=torch.int64).reshape(len(padded), self.size)
        order = order.to(self.jump.device)
        if tuple(order.shape) != (self.batch_size, self.size):
            raise ValueError(f"order: expected shape {[self.batch_size, self.size]}, got {list(order.shape)}")
        totals = []
        for b, n in enumerate(self.sizes()):
            o = order[b, :n]
            if sorted(o.tolist()) != list(range(n)):
                raise ValueError(f"order[{b}]: expected a permutation of 0..{n - 1}, got {o.tolist()}")
            if n == 0:
                totals.append(self.jump.new_zeros(()))
                continue
            total = self.start[b, o[0]] + self.end[b, o[-1]] + self.jump[b, o[:-1], o[1:]].sum()
            if self.position is not None:
                total = total + self.position[b, o, torch.arange(n, device=o.device)].sum()
            totals.append(total)
        return torch.stack(totals) if totals else self.jump.new_zeros((0,))
