"""Where a figure comes from: versions, machine, threads and date, the same in every record."""

from __future__ import annotations

import os
import platform
import resource
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime

import torch

from permparse import __version__


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What every record says about how it came to be."""

    permparse_version: str = __version__
    torch_version: str = str(torch.__version__)
    python_version: str = platform.python_version()
    machine: str = field(default_factory=_machine)
    threads: int = field(default_factory=torch.get_num_threads)
    date: str = field(default_factory=_now)


def peak_memory_mb() -> float:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 1024), 1)
