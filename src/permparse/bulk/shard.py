"""The answers to one shard: what a worker does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from pydantic import TypeAdapter

from permparse.base.errors import UserError
from permparse.base.storage import write_atomically
from permparse.bulk.answers import Format, answers
from permparse.bulk.lines import batches, chunks_of
from permparse.bulk.shards import Shard
from permparse.parsers import Parser


@dataclass(frozen=True)
class Job:
    """A shard of ``source``, the parser that answers it, and where answers and errors go."""

    model: str
    source: Path
    shard: Shard
    form: Format
    answers: Path
    errors: Path

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()


_ADAPTER = TypeAdapter(Job)


def main(text: str) -> None:
    """Parse the shard of a job that is given as JSON: what an executor calls."""
    job = _ADAPTER.validate_json(text)
    parser, shard = _parser(job.model), job.shard
    written: list[str] = []
    errors: list[str] = []
    line = shard.line
    with open(job.source, "rb") as file:
        file.seek(shard.begin)
        chunks = chunks_of(file, shard.end - shard.begin)
        for batch in batches(chunks, first=shard.begin == 0, most=parser.chunk):
            for answer in answers(parser, batch, job.form.n_best):
                written.append(job.form.text(answer))
                if isinstance(answer, UserError):
                    errors.append(f"line {line}: {' '.join(str(answer).split())}")
                line += 1
    if errors:
        write_atomically(job.errors, "".join(f"{error}\n" for error in errors).encode())
    write_atomically(job.answers, "".join(written).encode())


@lru_cache(maxsize=1)
def _parser(model: str) -> Parser:
    """The parser, loaded once by every process; cores are shared out to processes, not to threads."""
    torch.set_num_threads(1)
    return Parser.load(model)
