"""permparse: sentences to structured output without trees.

from permparse import Parser, Task, load_recipe, train
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from permparse.base.errors import UserError
    from permparse.parsers.base import Parser
    from permparse.parsers.parse import Parse
    from permparse.parsers.recipe import Recipe, load_recipe
    from permparse.tasks.base import Task
    from permparse.training.run import train

__version__ = "0.2.0"
__all__ = ["Parse", "Parser", "Recipe", "Task", "UserError", "load_recipe", "train"]

_HOME = {
    "Parse": "permparse.parsers.parse",
    "Parser": "permparse.parsers.base",
    "Recipe": "permparse.parsers.recipe",
    "Task": "permparse.tasks.base",
    "UserError": "permparse.base.errors",
    "load_recipe": "permparse.parsers.recipe",
    "train": "permparse.training.run",
}
"""Where a name lives; it is imported when first used, so that `import permparse` costs nothing."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'permparse' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
