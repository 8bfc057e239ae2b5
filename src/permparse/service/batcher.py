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
FEWEST_WORDS = 8
"""Shorter sentences cost no less."""
ALTERNATIVE_EFFORT, DETAILS_EFFORT = 5, 25
"""What an alternative and an explanation cost, in parses of the sentence."""
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

    def effort(self, max_words: int) -> int:
        """What its answer costs, up to a factor: it grows with the square of the length."""
        words = min(max(len(self.text.split()), FEWEST_WORDS), max_words)
        return words**2 * (1 + ALTERNATIVE_EFFORT * (self.n_best - 1) + DETAILS_EFFORT * self.details)


class Batcher:
    """A parser in a thread of its own, fed through a bounded queue."""

    def __init__(self, load: Callable[[], Parser], settings: ServiceSettings, metrics: Metrics) -> None:
        self._load, self.settings, self.metrics = load, settings, metrics
        self._pace = 0.0  # seconds per effort
        self._effort = 0
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
        """Answer everything accepted, then end; a parser that is still being loaded is not waited for."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self.ready.is_set():
            self._thread.join()

    @property
    def waiting(self) -> int:
        """Sentences in the queue."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether the thread can still parse."""
        return self._thread.is_alive() and self.failure is None

    def refusal(self, more: int = 1) -> Overloaded | None:
        """Why so many sentences more cannot be queued: there is no room, or at the pace of late they would wait longer
        than half the time that a request may take."""
        wait = self._effort * self._pace
        full = len(self._waiting) + more > self.settings.max_queue or wait > self.settings.max_seconds / 2
        return Overloaded(wait) if full or self._closing or not self.alive else None

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue all of these, or raise the reason for refusing them."""
        with self._changed:
            if refusal := self.refusal(len(jobs)):
                raise refusal
            self._waiting.extend(jobs)
            self._effort += self._effort_of(jobs)
            self.metrics.queue.set(len(self._waiting))
            self._changed.notify()

    def _effort_of(self, jobs: Sequence[Job]) -> int:
        return sum(job.effort(self.settings.max_words) for job in jobs)

    def _run(self) -> None:
        try:
            self.parser = self._load()
            warm_up(self.parser)
        except BaseException as error:
            self.failure = error
            return
        with self._changed:
            if self._closing:
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
                    self._effort -= self._effort_of([job])
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
            seconds = monotonic() - start
            self.metrics.parsing.observe(seconds / len(jobs))
            self._keep_pace(seconds / self._effort_of(jobs))

    def _keep_pace(self, pace: float) -> None:
        """Remember how many seconds an effort takes of late."""
        self._pace = pace if self._pace == 0 else self._pace + MEMORY * (pace - self._pace)

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
    """Compile all kernels, also those that only hard sentences need, and parse once, alone and in a batch, with
    everything that can be asked for: no client waits for a compiler."""
    parser.prepare()
    samples = [*parser.task.samples, *parser.task.deep_samples] or ["a b"]
    for parse in parser.parse_each(samples, n_best=2):
        if isinstance(parse, Parse):
            parser.explain(parse)
    parser.parse_each(samples[:1])
