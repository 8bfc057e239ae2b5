"""What `permparse compare` trains: the same data and seed for every parser, each by the recipe that suits it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from permparse.base.errors import UserError
from permparse.base.reading import json_in
from permparse.base.storage import write_atomically
from permparse.evaluation.comparison import Contestant
from permparse.experiments.plan import Run
from permparse.experiments.records import Record
from permparse.experiments.study import Row
from permparse.parsers.recipe import recipe_names
from permparse.parsers.registry import DEFAULT_PARSER, PARSERS

OURS = "ours"
DATA_FILE = "data.json"


@dataclass(frozen=True)
class Question:
    """What is compared on what. ``recipe`` names a recipe, and its ``overrides`` the files; ``changes`` are settings by
    parser."""

    recipe: str
    overrides: tuple[str, ...]
    split: str
    seed: int
    changes: tuple[tuple[str, str], ...] = ()

    def run(self, parser: str) -> Run:
        """The training of one parser: by the recipe that is made for it, or else by what suits the data."""
        own = f"{parser}-{self.recipe}"
        changes = tuple(change for name, change in self.changes if name == parser)
        if parser == OURS:
            return Run(Row(OURS, self.recipe, (*self.overrides, *changes), ()), self.seed)
        if own in recipe_names():
            return Run(Row(parser, own, (*self.overrides, *changes), ()), self.seed)
        chosen = (f"parser={parser}", "adapt=true", *self.overrides, *changes)
        return Run(Row(parser, self.recipe, chosen, ()), self.seed)


def chosen_parsers(names: str) -> list[str]:
    """The parsers of a list, ours by that name or its own."""
    chosen = [OURS if name.strip() in (OURS, DEFAULT_PARSER) else name.strip() for name in names.split(",")]
    for name in chosen:
        if name != OURS and name not in PARSERS and ":" not in name:
            known = ", ".join([OURS, *(parser for parser in PARSERS if parser != DEFAULT_PARSER)])
            raise UserError(f"--parsers: no parser is called {name!r}; there are {known}")
    return list(dict.fromkeys(chosen))


def require_same_data(output: Path, files: Sequence[Path]) -> None:
    """Refuse a folder whose results are of other data."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    path = output / DATA_FILE
    if path.is_file() and json_in(path) != found:
        raise UserError(f"{output}: holds a comparison of other data; choose another folder with --output")
    write_atomically(path, json.dumps(found, indent=2).encode())


def contestant(record: Record, runs: Path) -> Contestant:
    """The parser that a run left in a folder of ``runs``."""
    parameters = sum(cost.parameters for cost in record.stages.values())
    return Contestant(record.row, runs / record.trained_as, record.seconds / 60, parameters)
