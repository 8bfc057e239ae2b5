"""Work in processes of this machine, one process per piece, with nothing but the standard library."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from permparse.executors.base import RETRIES, Executor, Work

PATIENCE_SECONDS = 5.0


class LocalExecutor(Executor):
    """At most ``slots`` processes at a time, on one thread each if there may be several."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._pool = ThreadPoolExecutor(slots)
        self._pieces: dict[Future[str | None], _Piece] = {}

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, work: Work) -> Future[str | None]:
        piece = _Piece(work, one_thread=self._slots > 1)
        future = self._pool.submit(piece.run)
        self._pieces[future] = piece
        future.add_done_callback(self._pieces.pop)
        return future

    def cancel(self, future: Future[str | None]) -> None:
        if (piece := self._pieces.get(future)) is not None:
            piece.end()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for piece in list(self._pieces.values()):
            piece.end()
        self._pool.shutdown()


class _Piece:
    """A piece of work and the process that does it now."""

    def __init__(self, work: Work, one_thread: bool) -> None:
        self._work, self._one_thread = work, one_thread
        self._process: subprocess.Popen[str] | None = None
        self._ended = False
        self._starting = Lock()

    def run(self) -> str | None:
        """Do it, beginning again if its process is killed; None if it went well, else why not."""
        code, said = 0, ""
        for _ in range(1 + RETRIES):
            with self._starting:
                if self._ended:
                    return "ended before it was done"
                try:
                    self._process = _started(self._work, self._one_thread)
                except OSError as error:
                    return f"{self._work.log}: cannot be written ({error.strerror})"
            said = self._process.communicate()[0].strip()
            code = self._process.returncode
            if code >= 0:
                break
        if code == 0:
            return None
        return f"killed by signal {-code}" if code < 0 else said or f"ended with exit code {code}"

    def end(self) -> None:
        """End its process, politely at first; its last checkpoint is whole, whenever that happens."""
        with self._starting:
            self._ended = True
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _started(work: Work, one_thread: bool) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "COLUMNS": "200"}
    if one_thread:
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    work.log.parent.mkdir(parents=True, exist_ok=True)
    with open(work.log, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "permparse.executors.process", work.to_json()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            # Ctrl-C reaches this process only, which then ends the others in its own way.
            start_new_session=True,
        )
