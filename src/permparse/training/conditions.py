"""What the weights of a run depend on besides its data: recorded when it begins, held to when it is resumed.

A changed setting, file of word vectors or number of processes is refused, the number of threads is taken from the
record, and another version of torch or of this package is told.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from permparse import __version__
from permparse.base.errors import UserError
from permparse.base.reading import sha256_of, table_in
from permparse.base.settings import as_toml
from permparse.base.storage import write_atomically
from permparse.parsers.base import RECIPE_FILE
from permparse.parsers.recipe import Recipe, read_recipe
from permparse.training.parallel import Processes

CONDITIONS_FILE = "conditions.json"
FREE = frozenset(["tensorboard"])
"""Settings that do not change what is learned."""


@dataclass(frozen=True)
class Conditions:
    """Under what a run began."""

    recipe: str
    """The resolved recipe, as TOML."""
    threads: int
    torch: str
    permparse: str
    files: dict[str, str]
    """SHA-256 of the files that untrained networks start from, by path."""
    processes: int = 1

    @classmethod
    def present(cls, recipe: Recipe, processes: int) -> Conditions:
        """Those of this process, one of so many."""
        return cls(recipe.to_toml(), torch.get_num_threads(), str(torch.__version__), __version__, {}, processes)

    @classmethod
    def recorded(cls, folder: Path) -> Conditions | None:
        """Those of the run in this folder; None if it was begun by a version that kept no such record."""
        path = folder / CONDITIONS_FILE
        if not path.exists():
            return None
        table = table_in(path)
        try:
            table.setdefault("processes", 1)  # which earlier versions did not record
            found = cls(**{field.name: table[field.name] for field in fields(cls)})
            counts = (found.threads, found.processes)
            if any(type(n) is not int or n < 1 for n in counts) or not isinstance(found.files, dict):
                raise TypeError("expected numbers of threads and processes and the checksums of files")
            return found
        except (KeyError, TypeError) as error:
            raise UserError(f"{path}: damaged; start a new run") from error

    def save(self, folder: Path) -> None:
        write_atomically(folder / CONDITIONS_FILE, (json.dumps(asdict(self), indent=2) + "\n").encode())

    def require_same_recipe(self, recipe: Recipe, folder: Path) -> None:
        """UserError that names the setting in which the recipe differs from the one that the run began with."""
        began = dict(_flat(read_recipe(self.recipe, str(folder / CONDITIONS_FILE)).for_training().model_dump()))
        found = dict(_flat(recipe.for_training().model_dump()))
        for key in sorted(began.keys() | found.keys()):
            if key not in FREE and began.get(key) != found.get(key):
                was, now = (as_toml(_plain(table.get(key))) or "not set" for table in (began, found))
                raise UserError(
                    f"{folder / RECIPE_FILE}: {key} is {now}, but this run began with {was}; "
                    "put it back, or start a new run"
                )

    def require_same_processes(self, processes: int, folder: Path) -> None:
        """UserError that says how to continue: with another number, sums and dropout would come out differently."""
        if processes != self.processes:
            command = f"{Processes(size=self.processes).command} train --resume --output {shlex.quote(str(folder))}"
            raise UserError(f"{folder}: began on {self.processes} processes, now {processes}; run {command}")

    def with_files(self, paths: Iterable[Path]) -> Conditions:
        """With the checksums of further files; UserError if one has changed since it was read."""
        found = {str(path): sha256_of(path.expanduser()) for path in paths}
        for path, digest in found.items():
            if self.files.get(path, digest) != digest:
                raise UserError(f"{path}: has changed since this run began; put the old file back, or start a new run")
        return replace(self, files={**self.files, **found})

    def apply(self) -> list[str]:
        """Set the number of threads; lines that tell what differs from the beginning of the run."""
        lines = []
        if (threads := torch.get_num_threads()) != self.threads:
            torch.set_num_threads(self.threads)
            lines.append(f"this run began with {self.threads} threads and goes on with them (now: {threads})")
        for name, was, now in (
            ("torch", self.torch, str(torch.__version__)),
            ("permparse", self.permparse, __version__),
        ):
            if was != now:
                lines.append(f"this run began with {name} {was}; with {now} its weights may come out differently")
        return lines


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
