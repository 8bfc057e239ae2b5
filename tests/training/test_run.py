"""A whole training: what its settings change, and what they leave alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conftest import TINY
from permparse.errors import UserError
from permparse.training.recipe import load_recipe
from permparse.training.run import train


def second_stage_again(run: Path, copy: Path, setting: str) -> Path:
    """A copy of a run whose stage 2 is trained again with another setting, from the same tagger."""
    shutil.copytree(run, copy)
    for part in ("stage2", "parser"):
        shutil.rmtree(copy / part)
    (copy / "log.jsonl").unlink()
    recipe = load_recipe(str(copy / "recipe.toml"), [setting])
    (copy / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    train(recipe, copy, resume=True, quiet=True)
    return copy


def weights(run: Path) -> bytes:
    return next((run / "parser").glob("scorer-*")).read_bytes()


def test_the_decoder_does_not_change_what_is_learned(tiny_run: Path, tmp_path: Path) -> None:
    assert weights(second_stage_again(tiny_run, tmp_path / "copy", "decoder=hungarian")) == weights(tiny_run)


def test_dropping_annotation_trains_on_the_rightly_tagged_examples_only(tiny_run: Path, tmp_path: Path) -> None:
    dropped = second_stage_again(tiny_run, tmp_path / "copy", "stage2.annotation=drop")
    summary = json.loads((dropped / "run.json").read_text())
    records = [json.loads(line) for line in (dropped / "log.jsonl").read_text().splitlines()]
    annotated = next(record for record in records if record["event"] == "annotated")
    assert 0 < annotated["paper_would_drop"] == summary["paper_would_drop"]
    assert annotated["examples"] == summary["examples"] - summary["paper_would_drop"]
    assert weights(dropped) != weights(tiny_run)


def test_dropping_every_example_is_said_in_words(tmp_path: Path) -> None:
    recipe = load_recipe("doubling", [*TINY, "stage1.epochs=0", "stage2.annotation=drop"])
    with pytest.raises(UserError, match="stage 1 tags none of 160 with its gold multiset; train stage 1 longer"):
        train(recipe, tmp_path / "run", quiet=True)
