"""One thread parses for all clients: whatever waits when it is free becomes the next batch.

The queue is bounded; a request is taken whole or not at all.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic

from permparse.base.errors import UserError
from permparse.parsers import Parse, Parser
from permparse.service.messages import Answer, ErrorCode
from permparse.service.metrics import Metrics
from permparse.service.settings import ServiceSettings

BATCH = 64
"""Sentences parsed together at most."""
N_BEST_EFFORT = 8000
"""n_best · words² may be no more: 5 alternatives up to 40 words, 20 up to 20."""
MEMORY = 0.3
"""How much the latest batch changes the pace that is expected."""


class Refusal(Exception):
    """A sentence that gets no parse, with the code of its error."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


class Overloaded(Exception):
    """There is more to do than can be done in time, or the service is shutting down."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"try again in {wait:.0f} s")
        self.retry_after = max(1, math.ceil(wait))


@dataclass(frozen=True)
class Job:
    """A sentence that waits for its answer."""

    text: str
    n_best: int
    details: bool
    answer: Future[Answer] = field(default_factory=Future)
    since: float = field(default_factory=monotonic)


class Batcher:
    """A parser in a thread of its own, fed through a bounded queue."""

    def __init__(self, load: Callable[[], Parser], settings: ServiceSettings, metrics: Metrics) -> None:
        self._load, self.settings, self.metrics = load, settings, metrics
        self._pace = 0.0
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="permparse", daemon=True)
        self.ready = threading.Event()
        self.failure: BaseException | None = None
        self.parser: Parser | None = None

    def start(self) -> None:
        """Load the parser, warm it up, then parse what comes; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Answer everything accepted, then end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Sentences in the queue."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether the thread can still parse."""
        return self._thread.is_alive() and self.failure is None

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue all of these; Overloaded if there is no room, or if at the pace of late they would wait longer
        than half the time that a request may take."""
        with self._changed:
            queue, wait = len(self._waiting) + len(jobs), len(self._waiting) * self._pace
            full = queue > self.settings.max_queue or wait > self.settings.max_seconds / 2
            if self._closing or not self.alive or full:
                raise Overloaded(wait)
            self._waiting.extend(jobs)
            self.metrics.queue.set(len(self._waiting))
            self._changed.notify()

    def _run(self) -> None:
        try:
            self.parser = self._load()
            warm_up(self.parser)
        except BaseException as error:
            self.failure = error
            return
        self.ready.set()
        while batch := self._next_batch():
            self._answer(self.parser, batch)

    def _next_batch(self) -> list[Job]:
        """The next sentences that somebody still waits for; none when everything is answered and the end has come."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                batch: list[Job] = []
                while self._waiting and len(batch) < BATCH:
                    job = self._waiting.popleft()
                    if job.answer.set_running_or_notify_cancel():
                        batch.append(job)
                self.metrics.queue.set(len(self._waiting))
                if batch or (self._closing and not self._waiting):
                    return batch

    def _answer(self, parser: Parser, batch: list[Job]) -> None:
        self.metrics.batch.observe(len(batch))
        accepted = [job for job in batch if self._is_short_enough(parser, job)]
        for n_best in sorted({job.n_best for job in accepted}):
            jobs = [job for job in accepted if job.n_best == n_best]
            start = monotonic()
            try:
                self._settle(parser, jobs, parser.parse_each([job.text for job in jobs], n_best))
            except Exception:
                # One sentence must not cost the others their answers.
                for job in jobs:
                    self._answer_alone(parser, job)
            self._keep_pace((monotonic() - start) / len(jobs))

    def _keep_pace(self, seconds: float) -> None:
        """Remember how long a sentence takes of late."""
        self.metrics.parsing.observe(seconds)
        self._pace = seconds if self._pace == 0 else self._pace + MEMORY * (seconds - self._pace)

    def _is_short_enough(self, parser: Parser, job: Job) -> bool:
        try:
            words = len(parser.task.tokenize(job.text))
        except Exception as error:
            job.answer.set_exception(error)
            return False
        most = most_words(self.settings.max_words, job.n_best)
        if words > most:
            with_best = f" with n_best = {job.n_best}" if most < self.settings.max_words else ""
            message = f"expected at most {most} words{with_best}, got {words:,}"
            job.answer.set_exception(Refusal("too_long", message))
        return words <= most

    def _answer_alone(self, parser: Parser, job: Job) -> None:
        if not job.answer.done():
            try:
                self._settle(parser, [job], parser.parse_each([job.text], job.n_best))
            except Exception as error:
                job.answer.set_exception(error)

    @staticmethod
    def _settle(parser: Parser, jobs: Sequence[Job], answers: Sequence[Parse | UserError]) -> None:
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, UserError):
                job.answer.set_exception(Refusal("invalid_sentence", str(answer)))
            else:
                job.answer.set_result(Answer(parse=answer, explanation=parser.explain(answer) if job.details else None))


def most_words(limit: int, n_best: int) -> int:
    """How long a sentence may be: alternatives cost time that grows with their number and with the square of the
    length, where many orders are equally good."""
    return limit if n_best == 1 else min(limit, math.isqrt(N_BEST_EFFORT // n_best))


def warm_up(parser: Parser) -> None:
    """Parse once, alone and in a batch, with everything that can be asked for: kernels are compiled before a client
    waits."""
    samples = [*parser.task.samples, *parser.task.deep_samples] or ["a b"]
    for parse in parser.parse_each(samples, n_best=2):
        if isinstance(parse, Parse):
            parser.explain(parse)
    parser.parse_each(samples[:1])
