"""A stage of a training as the training loop sees it: batches, the loss of one, and a score to select by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from torch import Tensor, nn

from permparse.nn import Encoder
from permparse.parsers.recipe import Training


@dataclass(frozen=True)
class StepResult:
    """What one batch gave: the loss to descend (a scalar), and how many of its decisions were right."""

    loss: Tensor
    examples: int
    right: float = 0.0
    decisions: float = 0.0
    weight: float | None = None
    """How many terms the loss is the mean of, such as tokens; None if they are the examples."""


@dataclass(frozen=True)
class Scores:
    """The outcome of an evaluation during training: ``main`` (higher is better) selects the epoch, ``named`` is
    logged, ``smooth`` tells alternatives apart before ``main`` can (``main`` itself if None)."""

    main: float
    named: dict[str, float]
    smooth: float | None = None


class ParameterGroup(NamedTuple):
    """Parameters, by name, with a learning rate of their own."""

    parameters: dict[str, nn.Parameter]
    lr: float


@dataclass(frozen=True)
class StageReport:
    """What a stage has to say before it begins: lines for a person, figures for the log."""

    lines: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)


class Stage(ABC):
    """One network to train: `name` is a verb, as in *tag* and *order*."""

    name: str
    model: nn.Module
    training: Training
    report: StageReport

    @abstractmethod
    def batches(self, epoch: int) -> list[np.ndarray]:
        """The batches of an epoch as arrays of example numbers: a function of the epoch alone."""

    @abstractmethod
    def step(self, batch: np.ndarray, epoch: int) -> StepResult:
        """The loss of a batch, with the model in training mode."""

    @abstractmethod
    def evaluate(self) -> Scores:
        """Score the current weights on the validation examples, with the model in evaluation mode."""

    def parameter_groups(self) -> list[ParameterGroup]:
        """All parameters: those of an encoder with a learning rate of its own by that, all others by the stage's."""
        own = {id(p): lr for encoder, lr in _encoders_with_lr(self.model.modules()) for p in encoder.parameters()}
        groups: dict[float, dict[str, nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            groups.setdefault(own.get(id(parameter), self.training.lr), {})[name] = parameter
        return [ParameterGroup(parameters, lr) for lr, parameters in groups.items()]


def _encoders_with_lr(modules: Iterable[nn.Module]) -> Iterable[tuple[Encoder, float]]:
    for module in modules:
        if isinstance(module, Encoder) and module.settings.lr is not None:
            yield module, module.settings.lr
