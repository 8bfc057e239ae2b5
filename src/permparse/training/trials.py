"""Scores of trials are remembered: to train on the same data again, with another seed or after a kill, repeats none.

A score belongs to the examples, the settings and the code that it was found with; if one of them changes, it is found
anew. Where no cache folder can be written, nothing is remembered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch

import permparse
from permparse.base.errors import UserError
from permparse.base.files import cache_folder
from permparse.base.storage import write_atomically
from permparse.parsers.recipe import Recipe
from permparse.text import Example

TRIAL_SEED = 0
"""Trials are part of what is known about the data, not of the luck of one training."""


def remembered(recipe: Recipe, examples: Sequence[Example], score: Callable[[Recipe], float]) -> float:
    """The score of this recipe on these examples, whatever its seed: as found before, or else by ``score``."""
    recipe = recipe.model_copy(update={"seed": TRIAL_SEED})
    path = cache_folder() / "trials" / f"{_key(recipe, examples)}.json"
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["score"])
    except (OSError, ValueError, TypeError, KeyError):
        found = score(recipe)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"score": found}).encode())
    except (OSError, UserError):
        pass
    return found


def _key(recipe: Recipe, examples: Sequence[Example]) -> str:
    digest = hashlib.sha256(repr((_code(), str(torch.__version__), recipe.to_toml())).encode())
    for example in examples:
        digest.update(repr((example.source, example.target, example.output)).encode())
    return digest.hexdigest()[:32]


@cache
def _code() -> str:
    """A fingerprint of the source of this package."""
    digest = hashlib.sha256()
    for file in sorted(Path(permparse.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
