"""The record of one run, `results/runs/<row>-seed<k>.json`: what was trained, how long it took, what it scored."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import torch
from pydantic import TypeAdapter, ValidationError

from permparse import __version__
from permparse.errors import UserError
from permparse.training.evaluation import Evaluation
from permparse.training.storage import write_atomically

FOLDER = "runs"


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


@dataclass(frozen=True)
class Record:
    """One configuration trained with one seed, with its score on every split asked for.

    ``recipe`` is the resolved TOML. ``tagger_from`` names the run whose stage 1 was taken over; the seconds
    of stage 1 are then those of that run. ``trained_as`` names the folder of the run, which several records
    share that differ in decoding only.
    """

    row: str
    recipe_name: str
    overrides: tuple[str, ...]
    seed: int
    recipe: str
    trained_as: str
    tagger_from: str | None
    tagger_seconds: float
    scorer_seconds: float
    tagger_parameters: int
    scorer_parameters: int
    evaluations: dict[str, Evaluation]
    jobs: int
    threads: int = field(default_factory=torch.get_num_threads)
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d %H:%M"))
    permparse_version: str = __version__
    torch_version: str = str(torch.__version__)
    python_version: str = platform.python_version()
    machine: str = field(default_factory=_machine)

    @property
    def name(self) -> str:
        return f"{self.row}-seed{self.seed}"

    @property
    def seconds(self) -> float:
        return self.tagger_seconds + self.scorer_seconds


_ADAPTER = TypeAdapter(Record)


def write_record(results: Path, record: Record) -> Path:
    """Save a record, replacing the one before all at once."""
    path = results / FOLDER / f"{record.name}.json"
    write_atomically(path, _ADAPTER.dump_json(record, indent=2) + b"\n")
    return path


def read_record(path: Path) -> Record:
    """The record in a file; a damaged one is refused in words."""
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise UserError(
            f"{path}: not the record of a run ({error.errors()[0]['msg']}); remove it to run anew"
        ) from error


def read_records(results: Path) -> list[Record]:
    """All records of a results folder, by name."""
    return [read_record(path) for path in _files(results)]


def _files(results: Path) -> Iterable[Path]:
    folder = results / FOLDER
    return sorted(folder.glob("*-seed*.json")) if folder.is_dir() else []
