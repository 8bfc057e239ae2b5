"""Work on a Ray cluster, one core per piece. Ray finds a node, and begins again elsewhere if a worker or node dies."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from permparse.base.errors import UserError
from permparse.executors.base import RETRIES, Executor, Work, perform
from permparse.executors.connection import INSTALL, connect
from permparse.executors.terms import Terms

PROBE_SECONDS = 300.0
"""How long a node may take to say what it has installed."""


class RayExecutor(Executor):
    """Work on the cluster at ``address``, as many pieces at a time as it has cores, or at most ``jobs``."""

    def __init__(self, address: str, jobs: int | None, shared: Sequence[Path]) -> None:
        self._ray, self._terms, self._jobs = connect(address, jobs), Terms.here(shared), jobs
        self._references: dict[Future[str | None], Any] = {}
        # A process per run leaves no memory or thread of one to the next; short work would spend its time on starting.
        self._fresh = self._ray.remote(max_calls=1, max_retries=RETRIES)(_perform)
        self._reused = self._ray.remote(max_retries=RETRIES)(_perform)
        try:
            self._terms.mark()
            self._require_terms()
        except BaseException:
            self.close()
            raise

    @property
    def slots(self) -> int:
        cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return cores if self._jobs is None else min(self._jobs, cores)

    def submit(self, work: Work) -> Future[str | None]:
        remote = self._reused if work.short else self._fresh
        reference = remote.options(num_cpus=1, num_gpus=int(work.gpu)).remote(work, self._terms)
        future: Future[str | None] = Future()
        self._references[future] = reference
        reference.future().add_done_callback(lambda done: self._settle(future, done))
        return future

    def _settle(self, future: Future[str | None], done: Future[str | None]) -> None:
        self._references.pop(future, None)
        error = done.exception()
        future.set_result(done.result() if error is None else _in_one_line(error))

    def cancel(self, future: Future[str | None]) -> None:
        if (reference := self._references.get(future)) is not None:
            self._ray.cancel(reference, force=True)

    def close(self) -> None:
        for future in list(self._references):
            self.cancel(future)
        self._terms.forget()
        self._ray.shutdown()

    def _require_terms(self) -> None:
        """UserError if a node cannot do our work, before any is begun."""
        from ray.exceptions import RayError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        probe = self._ray.remote(num_cpus=0, max_retries=RETRIES)(Terms.complaint)
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        places = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=True) for node in nodes]
        answers = [probe.options(scheduling_strategy=place).remote(self._terms) for place in places]
        for node, answer in zip(nodes, answers, strict=True):
            try:
                complaint = self._ray.get(answer, timeout=PROBE_SECONDS)
            except RayError as error:
                name = node["NodeManagerHostname"]
                raise UserError(
                    f"node {name} cannot run permparse ({_in_one_line(error)}); {INSTALL} on every node"
                ) from error
            if complaint:
                raise UserError(complaint)


def _perform(work: Work, terms: Terms) -> str | None:
    """Do work on a node, which may have joined after the others were asked."""
    return terms.complaint() or perform(work)


def _in_one_line(error: BaseException) -> str:
    """What Ray says of work that did not end: the last line tells most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]:.300}" if lines else type(error).__name__
