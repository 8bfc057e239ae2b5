"""`kernel`: numba's compiler for the loops of this package, cached where there is a place for it, and never silent
for long."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

SILENCE = 1.0
"""Seconds of compiling after which a person at a terminal is told."""
MESSAGE = "permparse: compiling, once after installation (permparse warmup does it beforehand) ..."


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function on its first call, without the interpreter's lock.

    The result is kept for later processes beside the source, in the user's cache folder or, where neither can be
    written to, in a private folder for temporary files; if there is no place at all, it is not kept.
    """
    if function is None:
        return partial(kernel, **options)
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # "cannot cache function": no folder can be written to
        folder = private_folder()
    if folder is not None:
        config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    return njit(cache=folder is not None, nogil=True, **options)(function)


def private_folder() -> Path | None:
    """A folder for temporary files that belongs to this user alone, or None: cached code is executed, so nobody else
    may put any there."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"permparse-kernels-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    mine = stat.S_ISDIR(found.st_mode) and (user == "user" or (found.st_uid == user and not found.st_mode & 0o077))
    return folder if mine and os.access(folder, os.W_OK) else None


class Announcer(event.Listener):
    """Says once, on a terminal, that kernels are being compiled, if that takes longer than ``SILENCE``."""

    def __init__(self) -> None:
        self.said, self.spent, self.depth, self.started = False, 0.0, 0, 0.0
        self.timer: threading.Timer | None = None

    def on_start(self, started: event.Event) -> None:
        self.depth += 1
        if self.depth == 1 and not self.said:
            self.started = time.monotonic()
            self.timer = threading.Timer(max(0.0, SILENCE - self.spent), self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, ended: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.spent += time.monotonic() - self.started

    def say(self) -> None:
        """Print the message, the first time."""
        if not self.said and sys.stderr is not None and sys.stderr.isatty():
            print(MESSAGE, file=sys.stderr, flush=True)
        self.said = True


event.register("numba:compile", Announcer())
