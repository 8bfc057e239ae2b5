"""The record of a run: one JSON object per line in `log.jsonl` and, if asked for, TensorBoard curves."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from permparse.base.errors import UserError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class RunLog:
    """Appends events to ``folder/log.jsonl``; each line stands by itself, so a killed run leaves a readable
    log."""

    def __init__(self, folder: Path | None, tensorboard: bool = False) -> None:
        self._path = folder / "log.jsonl" if folder else None
        self._curves = _summary_writer(folder) if tensorboard and folder else None

    def write(self, event: str, **fields: float | int | str | bool | Mapping[str, float] | None) -> None:
        if self._path is None:
            return
        record = {"event": event, "time": round(time.time(), 3), **fields}
        try:
            with open(self._path, "a", encoding="utf-8", opener=_at_once) as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written ({error.strerror})") from error

    def curve(self, name: str, value: float, step: int) -> None:
        if self._curves is not None:
            self._curves.add_scalar(name, value, step)

    def close(self) -> None:
        if self._curves is not None:
            self._curves.close()


def _at_once(path: str, flags: int) -> int:
    """Open a file; OSError if it is a FIFO, for a reader of which nobody wants to wait."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def _summary_writer(folder: Path) -> SummaryWriter:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UserError(
            "TensorBoard is not installed; pip install 'permparse[tensorboard]' or set tensorboard = false"
        ) from error
    return SummaryWriter(log_dir=str(folder / "tensorboard"))
