"""The journal of a tuning, `journal.jsonl`: what is tuned, then one line per trial that was drawn or given up.

Lines are only ever added, so a kill at any moment leaves all that was known; scores are in the records of the runs.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from permparse.base.errors import UserError
from permparse.experiments.space import Settings

JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class Trial:
    """A point of the space that is tried; ``pruned`` if it was given up before its end."""

    number: int
    settings: Settings
    pruned: bool = False


class Journal:
    """The trials of the tuning in a folder, which must be one of ``what``."""

    def __init__(self, folder: Path, what: dict[str, Any]) -> None:
        self._path = folder / JOURNAL
        self.trials: list[Trial] = []
        lines = self._lines()
        if not lines:
            self._write({"tuning": what})
        elif lines[0] != {"tuning": json.loads(json.dumps(what))}:
            raise UserError(f"{folder}: holds the tuning of something else; choose another folder with --output")
        for line in lines[1:]:
            if "settings" in line:
                self.trials.append(Trial(line["trial"], line["settings"]))
            else:
                self._mark_pruned(line["trial"])

    def add(self, settings: Settings) -> Trial:
        """A new trial."""
        trial = Trial(len(self.trials), settings)
        self._write({"trial": trial.number, "settings": settings})
        self.trials.append(trial)
        return trial

    def prune(self, trial: Trial) -> None:
        """Note that a trial was given up."""
        self._write({"trial": trial.number, "pruned": True})
        self._mark_pruned(trial.number)

    def _mark_pruned(self, number: int) -> None:
        self.trials[number] = replace(self.trials[number], pruned=True)

    def _lines(self) -> list[Any]:
        if not self._path.is_file():
            return []
        text = self._path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        try:
            if whole != text:  # a line that a kill has cut short
                os.truncate(self._path, len(whole.encode()))
            return [json.loads(line) for line in whole.splitlines()]
        except (OSError, ValueError) as error:
            raise UserError(f"{self._path}: damaged ({error}); remove the folder to tune again") from error

    def _write(self, line: dict[str, Any]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written ({error.strerror})") from error
