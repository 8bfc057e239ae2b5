"""The training loop all stages share: steps, evaluation, checkpoints, and resuming to the very same weights.

Every source of chance is a function of the seed, the step and the process, so a checkpoint holds weights, moments and
a position, no generator.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from permparse.base.errors import UserError
from permparse.base.storage import is_saved, load_folder, load_weights, pack, save_folder, unpack
from permparse.parsers.stage import Scores, Stage, StepResult
from permparse.training.log import RunLog
from permparse.training.parallel import ALONE, Processes
from permparse.training.progress import Progress
from permparse.training.schedule import rate_share

KIND = "training state"
CHECKPOINT_SECONDS = 60.0
"""The state is saved at least this often, and after every epoch."""
GRADIENT_NORM = 3.0
"""Gradients are scaled down to this norm."""
CURVE_STEPS = 20
"""Steps between points of a curve."""


@dataclass(frozen=True)
class Position:
    """Where a training stands; all that a checkpoint needs besides tensors."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    examples: int = 0
    right: float = 0.0
    decisions: float = 0.0
    seconds: float = 0.0
    best_score: float = -math.inf
    best_epoch: int = -1
    evaluations_since_best: int = 0
    done: bool = False


class Trainer:
    """Trains one stage from wherever its checkpoint folder says it stands."""

    def __init__(self, stage: Stage, seed: int, folder: Path | None, log: RunLog, processes: Processes = ALONE) -> None:
        self.stage, self.settings, self.seed, self.log = stage, stage.training, seed, log
        self._folder, self._processes = folder, processes
        self.position = Position()
        self._parameters = dict(stage.model.named_parameters())
        self._device = next(iter(self._parameters.values())).device
        groups = [{"params": list(of.parameters.values()), "highest": of.lr} for of in stage.parameter_groups()]
        self._optimiser = torch.optim.AdamW(groups, lr=self.settings.lr, weight_decay=0.0, fused=True)
        self._average: dict[str, Tensor] | None = None
        self._best: dict[str, Tensor] | None = None
        if folder is not None and is_saved(folder):
            self._restore(folder)

    def fit(self, progress: Progress) -> Position:
        """Train to the end and leave the selected weights in the model, in evaluation mode."""
        settings, position = self.settings, self.position
        # All have read the same checkpoint, or none, before the first process writes another.
        self._processes.require_same(f"{self.stage.name}, step {position.step}", "a checkpoint")
        self._processes.spread(self.stage.model)
        started, saved = time.monotonic() - position.seconds, time.monotonic()
        steps = settings.epochs * len(self.stage.batches(0))
        progress.start(self.stage.name, settings.epochs, steps, position.step)
        while not self.position.done and self.position.epoch < settings.epochs:
            batches = self.stage.batches(self.position.epoch)
            while self.position.batch < len(batches):
                self._step(batches[self.position.batch], steps)
                now = time.monotonic()
                self.position = replace(self.position, seconds=now - started)
                progress.update(self.position)
                if now - saved > CHECKPOINT_SECONDS:
                    self.save()
                    saved = time.monotonic()
            self._end_epoch(progress, time.monotonic() - started)
            self.position = replace(self.position, seconds=time.monotonic() - started)
            self.save()
            saved = time.monotonic()
        if not self.position.done:
            self.position = replace(self.position, done=True)
            self.save()
        if self._best is not None:
            self.stage.model.load_state_dict(self._best)
        self._processes.spread(self.stage.model)
        self.stage.model.eval()
        progress.stop()
        return self.position

    def save(self) -> None:
        """Write the checkpoint, replacing the previous one all at once."""
        if self._folder is None or not self._processes.first:
            return
        state = self._optimiser.state
        moments = {
            f"{key}/{name}": state[parameter][key]
            for name, parameter in self._parameters.items()
            if parameter in state
            for key in ("exp_avg", "exp_avg_sq", "step")
        }
        files = {
            "position.json": json.dumps(asdict(self.position), indent=2).encode(),
            "model.safetensors": pack(self.stage.model.state_dict()),
            "optimiser.safetensors": pack(moments),
        }
        if self._average is not None:
            files["average.safetensors"] = pack(self._average)
        if self._best is not None:
            files["best.safetensors"] = pack(self._best)
        save_folder(self._folder, KIND, files)

    def _restore(self, folder: Path) -> None:
        files = load_folder(folder, KIND)
        try:
            self.position = Position(**json.loads(files["position.json"]))
            load_weights(self.stage.model, unpack(files["model.safetensors"]), str(folder))
            for key_and_name, tensor in unpack(files["optimiser.safetensors"]).items():
                key, _, name = key_and_name.partition("/")
                self._optimiser.state[self._parameters[name]][key] = tensor.to(self._device)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder}: damaged, or not a state of this training ({error}); start a new run") from error
        if "average.safetensors" in files:
            self._average = self._unpacked(files["average.safetensors"])
        if "best.safetensors" in files:
            self._best = self._unpacked(files["best.safetensors"])
        self.log.write("resumed", stage=self.stage.name, epoch=self.position.epoch, step=self.position.step)

    def _unpacked(self, content: bytes) -> dict[str, Tensor]:
        return {name: tensor.to(self._device) for name, tensor in unpack(content).items()}

    def _step(self, batch: np.ndarray, steps: int) -> None:
        position, settings, processes = self.position, self.settings, self._processes
        torch.manual_seed(_step_seed(self.seed, position.step * processes.size + processes.rank))
        self.stage.model.train()
        share = processes.share(batch)
        result = self.stage.step(share, position.epoch) if len(share) else _nothing()
        loss = float(result.loss.detach())
        if not math.isfinite(loss):
            raise UserError(
                f"{self.stage.name}: the loss became {loss} in epoch {position.epoch + 1}; "
                f"try a lower learning rate (now {settings.lr})"
            )
        self._optimiser.zero_grad(set_to_none=True)
        result.loss.backward()
        result = processes.reduced(result, self._parameters.values())
        loss = float(result.loss.detach())
        nn.utils.clip_grad_norm_(self._parameters.values(), GRADIENT_NORM)
        for group in self._optimiser.param_groups:
            group["lr"] = group["highest"] * rate_share(settings.schedule, position.step, steps)
        self._optimiser.step()
        self._update_average()
        self.position = replace(
            position,
            batch=position.batch + 1,
            step=position.step + 1,
            loss_sum=position.loss_sum + loss * result.examples,
            examples=position.examples + result.examples,
            right=position.right + result.right,
            decisions=position.decisions + result.decisions,
        )
        if position.step % CURVE_STEPS == 0:
            self.log.curve(f"{self.stage.name}/loss", loss, position.step)
            self.log.curve(f"{self.stage.name}/learning rate", self._optimiser.param_groups[0]["lr"], position.step)

    @torch.no_grad()
    def _update_average(self) -> None:
        if not self.settings.averaging:
            return
        if self._average is None:
            self._average = {name: p.detach().clone() for name, p in self._parameters.items()}
            return
        # Early on the average must forget the random start faster than its final decay would.
        decay = min(self.settings.averaging, (1 + self.position.step) / (10 + self.position.step))
        averages = [self._average[name] for name in self._parameters]
        torch._foreach_lerp_(averages, [p.detach() for p in self._parameters.values()], 1 - decay)

    def _end_epoch(self, progress: Progress, seconds: float) -> None:
        position, settings = self.position, self.settings
        epoch, last = position.epoch, position.epoch + 1 >= settings.epochs
        loss = position.loss_sum / max(1, position.examples)
        accuracy = position.right / position.decisions if position.decisions else None
        scores = None
        if last or (epoch + 1) % settings.evaluate_every == 0:
            progress.note("evaluating")
            found = json.dumps(asdict(self._evaluate())) if self._processes.first else ""
            scores = Scores(**json.loads(self._processes.from_first(found)))
        position = replace(position, epoch=epoch + 1, batch=0, loss_sum=0.0, examples=0, right=0.0, decisions=0.0)
        if scores is not None:
            better = scores.main > position.best_score
            waited = 0 if better else position.evaluations_since_best + 1
            position = replace(position, evaluations_since_best=waited)
            # Ties go to the later epoch: its learning rate is lower, which a saturated dev set cannot see.
            if settings.select == "last" or scores.main >= position.best_score:
                position = replace(position, best_score=scores.main, best_epoch=epoch)
                self._best = {name: t.detach().clone() for name, t in self._evaluated_weights().items()}
            if settings.patience and position.evaluations_since_best >= settings.patience:
                position = replace(position, done=True)
        self.position = position
        self.log.write(
            "epoch",
            stage=self.stage.name,
            epoch=epoch + 1,
            step=position.step,
            loss=loss,
            accuracy=accuracy,
            seconds=round(seconds, 2),
            scores=scores.named if scores else {},
        )
        curves = {} if accuracy is None else {"accuracy": accuracy}
        for name, value in (curves | (scores.named if scores else {})).items():
            self.log.curve(f"{self.stage.name}/{name}", value, position.step)
        progress.epoch(self.stage.name, epoch + 1, settings.epochs, loss, accuracy, scores, seconds)

    def _evaluated_weights(self) -> dict[str, Tensor]:
        weights = dict(self.stage.model.state_dict())
        if self._average is not None:
            weights.update(self._average)
        return weights

    def _evaluate(self) -> Scores:
        """Scores of the weights that would be kept: the average, if there is one."""
        model = self.stage.model
        own = {name: t.detach().clone() for name, t in model.state_dict().items()}
        model.load_state_dict(self._evaluated_weights())
        model.eval()
        with torch.no_grad():
            scores = self.stage.evaluate()
        model.load_state_dict(own)
        return scores


def _step_seed(seed: int, number: int) -> int:
    """Where the chance of a step begins. torch's generator of the CPU looks at 32 bits only, so all of both numbers
    have to be mixed into them."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1)[0])


def _nothing() -> StepResult:
    """What a process without a share of a batch adds to it."""
    return StepResult(torch.zeros((), requires_grad=True), examples=0)
