"""A batch of jump problems: which order of n tokens has the best start, jump and end scores (equation 4 of the paper).

The problem only states scores; `permparse.permutation.BregmanSolver` relaxes it, `permparse.permutation.decode` solves
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Numbers = Tensor | np.ndarray | Sequence[Any]
"""What a user may pass for a tensor: a tensor, a numpy array, or nested lists of numbers."""


@dataclass(frozen=True, eq=False, init=False)
class JumpProblem:
    """Find the order ``o`` of n tokens that maximises

        start[o_1] + jump[o_1, o_2] + ... + jump[o_{n-1}, o_n] + end[o_n]   (+ Σ_j position[o_j, j])

    for every example of a batch. Entries beyond an example's length are never read.

    Tensors are kept as they are, with their gradients; numpy arrays and nested lists are copied into tensors. Lists
    take the dtype of ``jump``, or torch's default dtype if ``jump`` is itself a list. All tensors must be on the same
    device.

    ``len(problem)`` is the number of examples, ``problem[2]`` a batch of one example, ``problem[1:3]`` a part of the
    batch; iterating yields the examples one by one."""

    start: Float[Tensor, "B N"]
    """Score of token i being first."""
    jump: Float[Tensor, "B N N"]
    """``jump[b, k, i]`` is the score of i directly following k; the diagonal is ignored."""
    end: Float[Tensor, "B N"]
    """Score of token i being last."""
    lengths: Int[Tensor, " B"]
    """The number of tokens of each example; N for all if omitted."""
    allowed: Bool[Tensor, "B N N"] | None
    """Token i may stand at position j; everywhere if omitted."""
    position: Float[Tensor, "B N N"] | None
    """An optional score of token i at position j."""

    def __init__(
        self,
        start: Numbers,
        jump: Numbers,
        end: Numbers,
        lengths: Numbers | None = None,
        allowed: Numbers | None = None,
        position: Numbers | None = None,
    ) -> None:
        jump = _scores("jump", jump, None)
        if jump.dim() != 3 or jump.shape[1] != jump.shape[2]:
            raise ValueError(f"jump: expected shape [B, N, N], got {list(jump.shape)}")
        batch, size = jump.shape[0], jump.shape[2]
        if lengths is None:
            lengths = torch.full((batch,), size, dtype=torch.int64, device=jump.device)
        given: dict[str, tuple[Tensor | None, list[int]]] = {
            "jump": (jump, [batch, size, size]),
            "start": (_scores("start", start, jump), [batch, size]),
            "end": (_scores("end", end, jump), [batch, size]),
            "position": (None if position is None else _scores("position", position, jump), [batch, size, size]),
            "allowed": (None if allowed is None else _booleans("allowed", allowed, jump), [batch, size, size]),
            "lengths": (_integers("lengths", lengths, jump), [batch]),
        }
        for name, (tensor, shape) in given.items():
            if tensor is not None and list(tensor.shape) != shape:
                raise ValueError(f"{name}: expected shape {shape}, got {list(tensor.shape)}")
            if tensor is not None and tensor.device != jump.device:
                raise ValueError(f"{name}: expected the device of jump, {jump.device}, got {tensor.device}")
            object.__setattr__(self, name, tensor)
        if batch and (int(self.lengths.min()) < 0 or int(self.lengths.max()) > size):
            raise ValueError(f"lengths: expected values from 0 to {size}, got {self.lengths.tolist()}")
        self._require_finite_scores()

    def _require_finite_scores(self) -> None:
        pairs = self.pair_mask
        off_diagonal = pairs & ~torch.eye(self.size, dtype=torch.bool, device=pairs.device)
        inside = self.token_mask
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
    def token_mask(self) -> Bool[Tensor, "B N"]:
        """True where there is a token."""
        return torch.arange(self.size, device=self.jump.device) < self.lengths[:, None]

    @property
    def pair_mask(self) -> Bool[Tensor, "B N N"]:
        """True where both indices are those of tokens (or of positions: there are as many)."""
        inside = self.token_mask
        return inside[:, :, None] & inside[:, None, :]

    @property
    def first_mask(self) -> Bool[Tensor, "B N"]:
        """True at the first position of each example; nowhere in an example without tokens."""
        return (torch.arange(self.size, device=self.jump.device) == 0) & (self.lengths[:, None] > 0)

    @property
    def last_mask(self) -> Bool[Tensor, "B N"]:
        """True at the last position of each example; nowhere in an example without tokens."""
        return torch.arange(self.size, device=self.jump.device) == self.lengths[:, None] - 1

    def sizes(self) -> list[int]:
        """The number of tokens of each example."""
        return [int(n) for n in self.lengths.tolist()]

    def __len__(self) -> int:
        return self.batch_size

    def __getitem__(self, index: int | slice) -> JumpProblem:
        if not isinstance(index, slice):
            if not -len(self) <= index < len(self):
                raise IndexError(f"expected an index below {len(self)}, the number of examples, got {index}")
            index = slice(index, index + 1 or None)
        return self._each(lambda tensor: tensor[index])

    def __iter__(self) -> Iterator[JumpProblem]:
        return (self[b] for b in range(len(self)))

    def _each(self, change: Callable[[Tensor], Tensor]) -> JumpProblem:
        """The problem with every tensor changed by a function that keeps it valid: nothing is checked again."""
        changed = object.__new__(JumpProblem)
        for field in fields(self):
            tensor = getattr(self, field.name)
            object.__setattr__(changed, field.name, None if tensor is None else change(tensor))
        return changed

    def at(self, examples: Sequence[int], size: int) -> JumpProblem:
        """The part of a batch with these examples, none of them longer than ``size``."""
        where = torch.tensor(examples, device=self.jump.device)
        return self._each(lambda tensor: tensor[where][(slice(None), *(slice(size),) * (tensor.dim() - 1))])

    def to(self, target: torch.device | torch.dtype | str) -> JumpProblem:
        """The same problem on another device, or with scores of another floating-point dtype; gradients flow back."""
        if isinstance(target, torch.dtype) and not target.is_floating_point:
            raise ValueError(f"to: expected a floating-point dtype for scores, got {target}")
        of_scores_only = isinstance(target, torch.dtype)
        moved = self._each(lambda t: t if of_scores_only and not t.is_floating_point() else t.to(target))
        if isinstance(target, torch.dtype) and torch.finfo(target).max < torch.finfo(self.jump.dtype).max:
            moved._require_finite_scores()
        return moved

    def widened(self) -> JumpProblem:
        """Half-precision scores as float32, in which a solution still means something; wider ones as they are."""
        return self.to(torch.float32) if torch.finfo(self.jump.dtype).bits < 32 else self

    def detach(self) -> JumpProblem:
        """The same problem without gradients."""
        return self._each(Tensor.detach)

    def first_and_last(self, cells: Float[Tensor, "B N N"]) -> tuple[Float[Tensor, "B N"], Float[Tensor, "B N"]]:
        """The columns of ``cells`` [B, i, j] at the first and at the last position of each example: what concerns
        start and end scores."""
        start = cells[:, :, 0] if self.size else cells.sum(2)
        return start, torch.where(self.last_mask[:, None, :], cells, 0.0).sum(2)

    def with_allowed(self, allowed: Numbers | None) -> JumpProblem:
        """The same scores, restricted to the orders in which every token stands where ``allowed`` lets it."""
        return replace(self, allowed=None if allowed is None else _booleans("allowed", allowed, self.jump))

    def restricted_to(self, allowed: Numbers) -> JumpProblem:
        """The same problem with ``allowed`` as a further restriction."""
        further = replace(self, allowed=_booleans("allowed", allowed, self.jump))
        if self.allowed is None or further.allowed is None:
            return further
        return replace(self, allowed=self.allowed & further.allowed)

    def score(self, order: Int[Tensor, "B N"] | Sequence[Sequence[int]]) -> Float[Tensor, " B"]:
        """The score of one order per example: ``order[b, j]`` is the token at position j; entries beyond the length
        are ignored.

        Differentiable in the scores.
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


def _scores(name: str, values: object, jump: Tensor | None) -> Tensor:
    """``values`` as a floating-point tensor with the dtype of ``jump``, if that is given."""
    if not isinstance(values, Tensor | np.ndarray):  # Python numbers have no dtype of their own
        dtype, device = (torch.get_default_dtype(), None) if jump is None else (jump.dtype, jump.device)
        array = _array(name, values)
        if array.size and array.dtype.kind not in "iuf":
            raise ValueError(f"{name}: expected real numbers, got {array.dtype} values")
        return torch.tensor(array, dtype=dtype, device=device)
    tensor = _tensor(name, values, jump)
    if not tensor.dtype.is_floating_point:
        raise ValueError(f"{name}: expected a floating-point tensor, got {tensor.dtype}")
    if jump is not None and tensor.dtype != jump.dtype:
        raise ValueError(f"{name}: expected the dtype of jump, {jump.dtype}, got {tensor.dtype}")
    return tensor


def _booleans(name: str, values: object, jump: Tensor) -> Tensor:
    tensor = _tensor(name, values, jump)
    if tensor.dtype != torch.bool:
        raise ValueError(f"{name}: expected a boolean tensor, got {tensor.dtype}")
    return tensor


def _integers(name: str, values: object, jump: Tensor) -> Tensor:
    tensor = _tensor(name, values, jump)
    if tensor.dtype == torch.bool or tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise ValueError(f"{name}: expected integers, got {tensor.dtype}")
    return tensor


def _tensor(name: str, values: object, jump: Tensor | None) -> Tensor:
    """Tensors as they are; all else copied to the device of ``jump``."""
    if isinstance(values, Tensor):
        return values
    array = _array(name, values)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{name}: expected numbers, got an array of dtype {array.dtype}")
    return torch.tensor(array, device=None if jump is None else jump.device)


def _array(name: str, values: object) -> np.ndarray:
    expected = f"{name}: expected a tensor, a numpy array or nested lists of equal lengths"
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise ValueError(f"{expected}, got {'None' if values is None else type(values).__name__}")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{expected}, got a list that is ragged or holds something else ({error})") from error
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{expected}, got a list of {array.dtype.name} values")
    return array
