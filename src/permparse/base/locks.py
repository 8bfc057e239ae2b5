"""One writer per folder: a lock that the operating system releases when its process ends, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from permparse.base.errors import UserError

LOCK_FILE = ".lock"
SAVE_SECONDS = 60.0
"""How long a save waits for another one in the same folder."""


@contextmanager
def locked(folder: Path, busy: str, seconds: float = 0.0, name: str = LOCK_FILE) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be; UserError with the words ``busy`` if another process holds
    it for longer than ``seconds``. A folder that cannot be written is one, too."""
    from filelock import FileLock, Timeout

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / name)
        lock.acquire(timeout=seconds, poll_interval=0.01)
    except Timeout:
        raise UserError(f"{folder}: {busy}") from None
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()
