"""Which engine does the work: what `--cluster` and `--jobs` mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from permparse.executors.base import Executor
from permparse.executors.local import LocalExecutor


def executor_for(cluster: str | None, jobs: int | None, shared: Sequence[Path]) -> Executor:
    """Processes of this machine if ``cluster`` is None, else Ray: `local` starts it here, `auto` finds one that runs
    here, and HOST:PORT names one.

    At most ``jobs`` pieces of work run at a time; None means one here, and all cores of a cluster. All nodes must see
    the folders ``shared``.
    """
    if cluster is None:
        return LocalExecutor(jobs or 1)
    from permparse.executors.on_ray import RayExecutor

    return RayExecutor(cluster, jobs, shared)
