"""The record of a run: TensorBoard curves on request, and a clear word where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import TINY
from permparse.base.errors import UserError
from permparse.parsers.recipe import load_recipe
from permparse.training.run import train

SMALL = [*TINY, "data.train_examples=176", "tagger.training.epochs=1", "tensorboard=true"]


def test_tensorboard_reads_the_curves_of_both_stages(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(load_recipe("doubling", SMALL), tmp_path, quiet=True)
    curves = EventAccumulator(str(tmp_path / "tensorboard"))
    curves.Reload()
    stages = {"tag": {"Freq", "log P"}, "order": {"accuracy", "Seq", "Seq/Freq"}}
    expected = {f"{s}/{name}" for s, names in stages.items() for name in names | {"loss", "learning rate"}}
    assert set(curves.Tags()["scalars"]) == expected
    assert [point.step for point in curves.Scalars("tag/loss")] == [0, 20]
    assert all(point.value > 0 for point in curves.Scalars("tag/loss"))


def test_without_tensorboard_the_message_names_the_extra_and_no_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'permparse\[tensorboard\]' or set tensorboard = false"):
        train(load_recipe("doubling", SMALL), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run" / "recipe.toml").exists()
