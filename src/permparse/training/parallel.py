"""One training on several processes, started by `torchrun`: each takes its share of every batch, gradients are summed.

All processes prepare the same data and take the same steps. Only the first writes, speaks and evaluates.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from permparse.base.errors import UserError
from permparse.parsers.stage import StepResult

PATIENCE = timedelta(days=1)
"""How long processes wait for the first one, which tries out settings and evaluates. A dead one is noticed at once."""
GONE = "a process of this training has ended, and so do all; continue with --resume"


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is; alone, every method returns what it was given."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def command(self) -> str:
        """How `permparse` is called for so many processes."""
        return "permparse" if self.size == 1 else f"torchrun --nproc_per_node {self.size} -m permparse"

    def share(self, batch: np.ndarray) -> np.ndarray:
        """The examples of a batch that this process takes; none if the batch is smaller than the group."""
        return batch[self.rank :: self.size]

    def reduced(self, result: StepResult, parameters: Iterable[nn.Parameter]) -> StepResult:
        """Turn the gradients of a share into those of the mean over the whole batch; what the whole batch gave."""
        if self.size == 1:
            return result
        trained = [p for p in parameters if p.requires_grad]
        weight = result.examples if result.weight is None else result.weight
        figures = [weight, weight * float(result.loss.detach()), result.examples, result.right, result.decisions]
        # A parameter without a gradient anywhere keeps none: the optimiser must not touch it.
        sums = torch.tensor([*figures, *(p.grad is not None for p in trained)], dtype=torch.float64)
        self._sum(sums)
        total, loss, examples, right, decisions, *used = sums.tolist()
        trained = [p for p, processes in zip(trained, used, strict=True) if processes]
        self._average([_gradient(p) for p in trained], weight / max(1.0, total))
        whole = torch.tensor(loss / max(1.0, total))
        return replace(result, loss=whole, examples=int(examples), right=right, decisions=decisions, weight=total)

    def from_first(self, text: str) -> str:
        """The text of the first process, in every process."""
        if self.size == 1:
            return text
        content = text.encode()
        size = torch.tensor([len(content)])
        self._broadcast(size)
        data = (
            torch.tensor(list(content), dtype=torch.uint8) if self.first else torch.empty(int(size), dtype=torch.uint8)
        )
        self._broadcast(data)
        return bytes(data.tolist()).decode()

    def require_same(self, text: str, what: str) -> None:
        """Wait for all processes; UserError if this one sees something else than the first."""
        if self.from_first(text) != text:
            raise UserError(f"process {self.rank} sees {what} that differs from that of the first process")

    def spread(self, model: nn.Module) -> None:
        """Give every process the weights of the first."""
        if self.size > 1:
            for tensor in model.state_dict().values():
                self._broadcast(tensor)

    @contextmanager
    def after_first(self) -> Iterator[None]:
        """Let the first process do what is inside alone: what it downloads, the others find."""
        if not self.first:
            self.from_first("")
        yield
        if self.first:
            self.from_first("")

    def _average(self, gradients: list[Tensor], share: float) -> None:
        if gradients:
            flat = torch.cat([g.flatten() for g in gradients]) * share
            self._sum(flat)
            for gradient, whole in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(whole.view_as(gradient))

    def _sum(self, tensor: Tensor) -> None:
        with _noticing_the_dead():
            dist.all_reduce(tensor)

    def _broadcast(self, tensor: Tensor) -> None:
        with _noticing_the_dead():
            dist.broadcast(tensor, src=0)


ALONE = Processes()


@contextmanager
def joined() -> Iterator[Processes]:
    """The processes that `torchrun` has started, or this one alone. Whatever ends them, one of them says why."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    # Imported later, by an optimiser, its default arguments would keep the group alive until the interpreter ends, when
    # a thread of the group that is still at work aborts the process.
    import torch.distributed.nn

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group(timeout=PATIENCE)  # gloo for tensors on the CPU, nccl for those on a GPU
    processes = Processes(dist.get_rank(), dist.get_world_size())
    before = signal.signal(signal.SIGTERM, _end)  # which torchrun sends to all when one has died
    try:
        yield processes
    except (UserError, KeyboardInterrupt) as end:
        if _speaks():
            raise
        raise SystemExit(130 if isinstance(end, KeyboardInterrupt) else 2) from None
    finally:
        signal.signal(signal.SIGTERM, before)
        dist.destroy_process_group()  # and ends its threads


def _end(*_: object) -> None:
    raise UserError(GONE)


def _speaks() -> bool:
    """Whether this process is the first to have something to say."""
    try:
        return dist.distributed_c10d._get_default_store().add("said", 1) == 1
    except RuntimeError:  # the store went down with the process that kept it
        return True


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


@contextmanager
def _noticing_the_dead() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise UserError(GONE) from error
