"""Stages that are trained already, taken over by a run that differs only in what comes after them."""

from __future__ import annotations

import shutil
from pathlib import Path

from permparse.base.errors import UserError
from permparse.base.reading import table_in, text_in
from permparse.base.storage import MANIFEST, write_atomically
from permparse.parsers.base import RECIPE_FILE
from permparse.parsers.recipe import Recipe, read_recipe
from permparse.training.conditions import Conditions

ORIGIN = "taken_from.txt"
DATA_FILE = "data.json"


def is_trained(run: Path, stage: str) -> bool:
    """Whether a stage of the run has reached its end, by a look at its position and not its weights."""
    try:
        manifest = table_in(run / stage / MANIFEST)
        return bool(table_in(run / stage / manifest["files"]["position.json"]["file"])["done"])
    except (UserError, KeyError, TypeError):
        return False


def take_over(run: Path, stage: str, folder: Path, recipe: Recipe) -> None:
    """Put a trained stage of another run into ``folder``, before the run there begins.

    The weights are those that training ``recipe`` from the start would give, so settings that differ are refused.
    """
    known = run / RECIPE_FILE
    if not known.is_file() or not is_trained(run, stage):
        raise UserError(f"{run}: no run here whose stage {stage!r} is finished")
    if read_recipe(text_in(known), str(known)).for_stage(stage) != recipe.for_stage(stage):
        raise UserError(f"{run}: its stage {stage!r} was trained with other settings than {folder} asks for")
    began = Conditions.recorded(run)
    if began is not None:  # raises if a file of word vectors is another one by now
        began.with_files(Path(path) for path in began.files if Path(path).expanduser().is_file())
    folder.mkdir(parents=True, exist_ok=True)
    # Under another name until it is whole: a run that is killed here must not take a part for a checkpoint.
    part = folder / f"{stage}.part"
    for leftover in (part, folder / stage):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(run / stage, part)
    shutil.copy(run / DATA_FILE, folder / DATA_FILE)
    write_atomically(folder / ORIGIN, f"{origin(run) or run.name}\n".encode())
    part.rename(folder / stage)


def origin(run: Path) -> str | None:
    """The name of the run that trained the first stage of this one, None if it did so itself."""
    path = run / ORIGIN
    return text_in(path).strip() if path.is_file() else None
