"""A trained stage 1 handed on to a run that differs only in what comes after it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pydantic import BaseModel

from permparse.errors import UserError
from permparse.training.recipe import Recipe
from permparse.training.storage import MANIFEST, write_atomically

STAGE = "stage1"
ORIGIN = "tagger_from.txt"


def tagger_settings(recipe: Recipe) -> tuple[str, int, BaseModel, BaseModel, BaseModel]:
    """All that decides the weights of stage 1: runs that agree in it have the same tagger."""
    # The folder says where the files lie, not what is in them; the fingerprint in data.json does that.
    data = recipe.data.model_copy(update={"folder": None})
    return recipe.task, recipe.seed, data, recipe.tagger, recipe.stage1


def tagger_is_trained(folder: Path) -> bool:
    """Whether stage 1 of the run in ``folder`` has reached its end, by a look at its position and not its weights."""
    try:
        manifest = json.loads((folder / STAGE / MANIFEST).read_text(encoding="utf-8"))
        position = folder / STAGE / manifest["files"]["position.json"]["file"]
        return bool(json.loads(position.read_text(encoding="utf-8"))["done"])
    except (OSError, ValueError, KeyError):
        return False


def copy_tagger(source: Path, folder: Path, recipe: Recipe) -> None:
    """Put the trained stage 1 of the run in ``source`` into ``folder``, before the run there begins.

    The weights are those that training ``recipe`` anew would give, so settings that differ are refused.
    """
    known = source / "recipe.toml"
    if not known.is_file() or not tagger_is_trained(source):
        raise UserError(f"{source}: no run with a finished stage 1 here")
    if tagger_settings(Recipe.from_toml(known.read_text(encoding="utf-8"), str(known))) != tagger_settings(recipe):
        raise UserError(f"{source}: its stage 1 was trained with other settings than {folder} asks for")
    folder.mkdir(parents=True, exist_ok=True)
    # Under another name until it is whole: a run that is killed here must not take a part for a checkpoint.
    part = folder / f"{STAGE}.part"
    for leftover in (part, folder / STAGE):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(source / STAGE, part)
    shutil.copy(source / "data.json", folder / "data.json")
    write_atomically(folder / ORIGIN, f"{tagger_origin(source) or source.name}\n".encode())
    part.rename(folder / STAGE)


def tagger_origin(folder: Path) -> str | None:
    """The name of the run that trained the stage 1 of this one, None if it did so itself."""
    path = folder / ORIGIN
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None
