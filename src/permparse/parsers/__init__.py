"""Parsers: the interface that all share, recipes, and the parsers themselves, by name."""

from permparse.parsers.base import Parser
from permparse.parsers.parse import Alternative, Parse
from permparse.parsers.recipe import Recipe, load_recipe, read_recipe, recipe_names

__all__ = ["Alternative", "Parse", "Parser", "Recipe", "load_recipe", "read_recipe", "recipe_names"]
