"""The record of one run, `results/runs/<row>-seed<k>.json`: what was trained, how long it took, what it scored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from permparse.base.errors import UserError
from permparse.base.provenance import Provenance
from permparse.base.storage import write_atomically
from permparse.evaluation.scores import Evaluation

FOLDER = "runs"


@dataclass(frozen=True)
class StageCost:
    """What the training of a stage took."""

    seconds: float
    parameters: int


@dataclass(frozen=True)
class Record(Provenance):
    """One configuration trained with one seed, with its score on every split asked for.

    ``recipe`` is the resolved TOML. ``taken_from`` names the run whose first stage was taken over; the seconds of that
    stage are then those of that run. ``trained_as`` names the folder of the run, which several records share that
    differ in decoding only.
    """

    row: str
    recipe_name: str
    overrides: tuple[str, ...]
    seed: int
    recipe: str
    trained_as: str
    taken_from: str | None
    stages: dict[str, StageCost]
    evaluations: dict[str, Evaluation]
    jobs: int

    @property
    def name(self) -> str:
        return f"{self.row}-seed{self.seed}"

    @property
    def seconds(self) -> float:
        return sum(cost.seconds for cost in self.stages.values())


_ADAPTER = TypeAdapter(Record)


def record_path(results: Path, name: str) -> Path:
    """Where the record of a run of this name is."""
    return results / FOLDER / f"{name}.json"


def write_record(results: Path, record: Record) -> Path:
    """Save a record, replacing the one before all at once."""
    path = record_path(results, record.name)
    write_atomically(path, _ADAPTER.dump_json(record, indent=2) + b"\n")
    return path


def read_record(path: Path) -> Record:
    """The record in a file; a damaged one is refused in words."""
    try:
        return _ADAPTER.validate_python(_modernised(json.loads(path.read_bytes())))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError, AttributeError, ValidationError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise UserError(f"{path}: not the record of a run ({reason}); remove it to run it again") from error


def _modernised(record: Any) -> Any:
    """A record of version 0.1, which had two stages by name, as one of today."""
    if not isinstance(record, dict) or "tagger_seconds" not in record:
        return record
    old = dict(record)
    old["taken_from"] = old.pop("tagger_from")
    old["stages"] = {
        stage: {"seconds": old.pop(f"{network}_seconds"), "parameters": old.pop(f"{network}_parameters")}
        for stage, network in (("tag", "tagger"), ("order", "scorer"))
    }
    return old


def read_records(results: Path) -> list[Record]:
    """All records of a results folder, by name."""
    return [read_record(path) for path in _files(results)]


def _files(results: Path) -> Iterable[Path]:
    folder = results / FOLDER
    return sorted(folder.glob("*-seed*.json")) if folder.is_dir() else []
