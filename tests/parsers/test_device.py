"""Training and parsing run wherever `device` points, and in another precision: held without a second device.

A mode fails whenever a tensor is made without a device; what comes from numpy arrives on the CPU and is moved at once.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from permparse import Parser, load_recipe
from permparse.parsers.base import Splits
from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.tasks import get_task

NAMES = "arange|as_tensor|empty|eye|full|linspace|ones|rand|randint|randn|randperm|tensor|zeros"
FACTORIES = {getattr(torch, name) for name in NAMES.split("|")}


class NoTensorWithoutDevice(TorchFunctionMode):
    """Refuses to make a tensor unless it is said where."""

    def __torch_function__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in FACTORIES and kwargs.get("device") is None and not any(isinstance(a, Tensor) for a in args):
            raise AssertionError(f"torch.{function.__name__} without a device")
        return function(*args, **kwargs)


RECIPES = {
    "geometric tagger, LSTM scorer": ["tagger.encoder.kind=geometric", "tagger.encoder.rare_dropout=1.0"],
    "all terms of the scorer": ["scorer.multisets=true", "scorer.plain_values=true", "scorer.distance=true"],
    "the paper's scores": ["scorer.normalise=false", "decoder=hungarian"],
}
SMALL = [
    *(f"{network}.encoder.{size}=16" for network in ("tagger", "scorer") for size in ("hidden_size", "embedding_size")),
    "candidates=4",
]


def untrained(overrides: list[str]) -> tuple[MultisetPermutationParser, Splits]:
    task = get_task("fragment", size=60)
    examples = task.load("train")
    parser = MultisetPermutationParser.build(load_recipe("fragment", [*SMALL, *overrides]), task, examples)
    return parser, Splits(examples, examples[:5])


def step_and_parse(parser: MultisetPermutationParser, splits: Splits) -> list[Tensor]:
    """A training step of every stage, an evaluation, a parse; the gradients."""
    gradients = []
    for stage in parser.stages(splits):
        stage.model.train()
        stage.step(np.arange(4), 0).loss.backward()
        gradients += [p.grad for p in stage.model.parameters() if p.grad is not None]
        stage.model.eval()
        stage.evaluate()
    parse = parser.parse("Zeno saw a bell .", n_best=3)
    assert np.isfinite(parse.log_prob)
    return gradients


@pytest.mark.parametrize("overrides", RECIPES.values(), ids=RECIPES.keys())
def test_every_tensor_is_made_where_the_settings_point(overrides: list[str]) -> None:
    parser, splits = untrained(overrides)
    with NoTensorWithoutDevice():
        assert step_and_parse(parser, splits)


def test_the_mode_can_fail() -> None:
    with NoTensorWithoutDevice(), pytest.raises(AssertionError, match=r"torch\.zeros without a device"):
        torch.zeros(3)


@pytest.mark.parametrize("overrides", RECIPES.values(), ids=RECIPES.keys())
def test_a_second_precision_gives_the_same_gradients(overrides: list[str]) -> None:
    drops = ("encoder.dropout", "encoder.word_dropout", "ff_dropout")
    still = [f"{network}.{drop}=0.0" for network in ("tagger", "scorer") for drop in drops]
    still.append("tagger.encoder.rare_dropout=0.0")
    single, splits = untrained([*overrides, *still])
    double, _ = untrained([*overrides, *still])
    for network in double.networks.values():
        network.double()
    for one, other in zip(step_and_parse(single, splits), step_and_parse(double, splits), strict=True):
        assert other.dtype == torch.float64
        torch.testing.assert_close(one.double(), other, rtol=1e-2, atol=1e-4)


def test_batches_and_weights_move_together(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run, device="cpu")
    assert isinstance(parser, MultisetPermutationParser)
    assert {p.device.type for network in parser.networks.values() for p in network.parameters()} == {"cpu"}
    meta = parser.tagger.to("meta")
    assert meta.device.type == "meta"
