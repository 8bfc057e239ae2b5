"""A whole file parsed by many workers: shards are handed out, answered in any order and joined in theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from permparse.base.errors import UserError
from permparse.base.locks import locked
from permparse.base.reading import sha256_of
from permparse.base.storage import MANIFEST
from permparse.bulk.answers import Format
from permparse.bulk.shard import Job
from permparse.bulk.shards import Shards
from permparse.executors import Executor, Work, executor_for
from permparse.parsers.base import FOLDER
from permparse.parsers.sharing.sources import located

WORKER = "permparse.bulk.shard:main"
SHARD_LINES = 10_000
AHEAD = 2
"""Shards handed out per worker: no worker waits for the next one, and a queue holds names, not sentences."""
Progress = Callable[[int, int], None]


def parse_file(
    model: str | Path,
    source: str | Path,
    output: str | Path,
    cluster: str | None = "local",
    jobs: int | None = None,
    json: bool = False,
    n_best: int = 1,
    shard_lines: int = SHARD_LINES,
    progress: Progress = lambda done, total: None,
) -> int:
    """Parse every line of ``source`` and write the answers, in order, to ``output``: `permparse parse --cluster`.

    Returns the number of lines that could not be parsed; ``output``.errors then says why. ``cluster`` is `local`,
    `auto` or HOST:PORT of Ray, or None for processes without Ray. ``jobs`` are the cores to use, by default all of a
    cluster. ``progress`` is told how many shards are done, of how many.

    Answers are kept by shard in the folder ``output``.shards until all are there. Called again, also after a kill, it
    does the rest.
    """
    source, output = Path(source).absolute(), Path(output).absolute()
    model = str(Path(model).absolute()) if Path(model).exists() else str(model)
    form, folder = Format(json, n_best), output.with_name(f"{output.name}.shards")
    question = _question(model, source, form, shard_lines)
    with locked(folder, "another process is at work here; wait for it, or choose another --output"):
        shards = Shards(folder, source, shard_lines, question)
        left, total = shards.left(), len(shards.all)
        work = [Job(model, source, shard, form, shards.answers(shard), shards.errors(shard)) for shard in left]
        if work:
            with executor_for(cluster, jobs, [folder]) as executor:
                _do_all(work, executor, folder, lambda done: progress(total - len(left) + done, total))
        return shards.join(output, output.with_name(f"{output.name}.errors"))


def _do_all(jobs: Iterable[Job], executor: Executor, folder: Path, progress: Callable[[int], None]) -> None:
    waiting, running, done = iter(jobs), set[Future[str | None]](), 0
    while True:
        while len(running) < AHEAD * executor.slots and (job := next(waiting, None)) is not None:
            running.add(executor.submit(Work(WORKER, job.to_json(), folder / "log", short=True)))
        if not running:
            return
        ended, running = wait(running, return_when=FIRST_COMPLETED)
        for future in ended:
            if (reason := future.result()) is not None:
                raise UserError(f"{reason}; what is done is safe in {folder}, and the same command goes on")
            done += 1
            progress(done)


def _question(model: str, source: Path, form: Format, lines: int) -> dict[str, Any]:
    """All that decides the answers."""
    if not source.is_file():
        raise UserError(f"{source}: no such file")
    status = source.stat()
    with located(model) as folder:
        parts = (path for path in (folder / FOLDER / MANIFEST, folder / MANIFEST) if path.is_file())
        digest = next((sha256_of(path) for path in parts), None)
    if digest is None:
        raise UserError(f"{model}: no parser here; expected the folder of a run or of a saved parser")
    file = {"path": str(source), "bytes": status.st_size, "changed": status.st_mtime_ns}
    return {"file": file, "parser": digest, "format": asdict(form), "lines": lines}
