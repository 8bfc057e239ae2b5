"""A piece of work and who does it: the interface of all engines.

Work is named by text alone, so that it can be sent to another process or machine without pickling anything of ours.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter

from permparse.base.errors import UserError

RETRIES = 2
"""How often work is begun again when the process that did it died."""
PASSED_ON = ("PERMPARSE_DATA", "PERMPARSE_MODELS", "PERMPARSE_CACHE")
"""Variables of the environment that work on another machine must see, too."""


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


@dataclass(frozen=True)
class Work:
    """A call of ``function``, named as `module:function`, with one text.

    What it says goes to ``log``. ``environment`` is added to that of the process, which works in ``folder``. Work that
    is ``short`` may run in a process that has done other work before; ``gpu`` asks for a GPU of its own.
    """

    function: str
    argument: str
    log: Path
    environment: dict[str, str] = field(default_factory=_environment)
    folder: Path = field(default_factory=Path.cwd)
    short: bool = False
    gpu: bool = False

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()

    @staticmethod
    def from_json(text: str) -> Work:
        return _ADAPTER.validate_json(text)


_ADAPTER = TypeAdapter(Work)


class Executor(ABC):
    """Does work, several pieces at a time. Leaving it ends whatever is still under way."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many pieces can run at the same time now."""

    @abstractmethod
    def submit(self, work: Work) -> Future[str | None]:
        """Begin work. The result is None if it went well, else why not, in one line; it is never an exception."""

    @abstractmethod
    def cancel(self, future: Future[str | None]) -> None:
        """End a piece of work; its future may still get a result, which means nothing."""

    @abstractmethod
    def close(self) -> None:
        """End what is under way."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def perform(work: Work) -> str | None:
    """Do a piece of work in this process: None if it went well, else why not."""
    try:
        work.log.parent.mkdir(parents=True, exist_ok=True)
        with open(work.log, "a", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
            return _called(work)
    except OSError as error:
        return f"{work.log}: cannot be written ({error.strerror})"


def _called(work: Work) -> str | None:
    try:
        os.chdir(work.folder)
        os.environ.update(work.environment)
        module, _, name = work.function.partition(":")
        function: Callable[[str], object] = getattr(importlib.import_module(module), name)
        function(work.argument)
    except UserError as error:
        reason = " ".join(str(error).split())
        print(reason, file=sys.stderr)
        return reason
    except Exception as error:
        traceback.print_exc()
        return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    return None
