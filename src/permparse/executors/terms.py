"""What all machines of a cluster must agree in: the versions that decide a result, and folders that all of them see."""

from __future__ import annotations

import platform
import socket
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self

from permparse import __version__
from permparse.base.errors import UserError


@dataclass(frozen=True)
class Terms:
    """What is so on the machine that asks for work. ``marks`` are files that it puts into the shared folders."""

    versions: dict[str, str]
    marks: tuple[Path, ...]

    @classmethod
    def here(cls, shared: Sequence[Path]) -> Self:
        """The terms of this machine, whose shared folders are yet to be marked."""
        return cls(_versions(), tuple(folder.absolute() / f".seen-by-all-{uuid.uuid4().hex}" for folder in shared))

    def mark(self) -> None:
        """Put a mark into every shared folder; it stays there until `forget`."""
        for mark in self.marks:
            try:
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
            except OSError as error:
                raise UserError(f"{mark.parent}: cannot be written ({error.strerror})") from error

    def complaint(self) -> str | None:
        """Why the machine that calls this cannot do the work: None if it can."""
        name = socket.gethostname()
        for package, wanted in self.versions.items():
            if (found := _versions()[package]) != wanted:
                return f"node {name} has {package} {found}, this machine {wanted}; install the same on all nodes"
        for mark in self.marks:
            if not mark.is_file():
                return f"node {name} does not see {mark.parent}; choose a folder on storage that all nodes share"
        return None

    def forget(self) -> None:
        for mark in self.marks:
            with suppress(OSError):
                mark.unlink()


def _versions() -> dict[str, str]:
    return {"permparse": __version__, "torch": version("torch"), "Python": platform.python_version()}
