"""The recipe of an ensemble: how its members come to one output. What each was trained by is stored with it."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from permparse.parsers.recipe import Recipe
from permparse.parsers.registry import ENSEMBLE


class EnsembleRecipe(Recipe):
    """How the members of an ensemble come to one output."""

    parse_settings: ClassVar[tuple[str, ...]] = (*Recipe.parse_settings, "candidates", "surprise_weight")

    parser: str = ENSEMBLE
    candidates: int = Field(default=1, ge=1, le=1000)
    """How many of its likeliest multisets every member proposes where the members do not agree."""
    surprise_weight: float = Field(default=0.5, ge=0, le=1e6)
    """Weight of how badly an output reads, against the log probability of its multiset."""
