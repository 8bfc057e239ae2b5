"""What became of one attack, and how attacks are run in a process of their own that may hang, crash or be killed."""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

Answer = tuple[str, str, str]
"""Name of an attack, verdict and detail."""
SHARES = len(os.sched_getaffinity(0))
"""Processes that share the attacks of a section."""
FAULT = "FAULT "
"""How a verdict begins that must not happen."""
LONGEST_DETAIL = 500
"""Characters of a verdict and of its detail at most: a pipe takes them at once."""
MEMORY = 12 << 30
"""Bytes of address space that an attacked process may ask for."""


@dataclass
class Section:
    """The verdicts of one kind of attack, and what there is to know of those that did not hold."""

    verdicts: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, verdict: str, detail: str = "") -> None:
        self.verdicts[verdict] += 1
        if verdict.startswith(FAULT):
            self.failed[name] = f"{verdict.removeprefix(FAULT)}: {detail}"[:300]

    @property
    def failures(self) -> int:
        return sum(count for verdict, count in self.verdicts.items() if verdict.startswith(FAULT))

    @property
    def holds(self) -> int:
        return self.verdicts.total() - self.failures


def isolated(attack: Callable[[], tuple[str, str]], seconds: float) -> tuple[str, str]:
    """Verdict and detail of an attack run in a forked child: a hang, a crash or a raw exception is a fault.

    A child that computes for more than ``seconds`` hangs, and so does one that waits for ten times as long: other
    processes may want the cores, too.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        try:
            answer = attack()
        except BaseException as error:
            answer = f"{FAULT}raw {type(error).__name__}", str(error)
        os.write(writing, json.dumps([part[:LONGEST_DETAIL] for part in answer]).encode())
        os._exit(0)
    os.close(writing)
    answered = select.select([reading], [], [], 10 * seconds)[0]
    content = os.read(reading, 65_536) if answered else b""
    os.close(reading)
    if not answered:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not answered or (not content and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return f"{FAULT}hang", f"no answer within {seconds:.0f} s"
    if not content:
        return f"{FAULT}crash", f"status {status}"
    verdict, detail = json.loads(content)
    return verdict, detail


def forked(work: Callable[[], object]) -> int:
    """Start work in a forked child; its process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def exit_code(child: int, seconds: float = 600.0) -> int:
    """The exit code of a forked child, minus the signal that ended it; it is killed if it takes too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


def shared(attack: Callable[[int], Answer], count: int, scratch: Path) -> Section:
    """The attacks 0..count-1, shared out among forked processes. If interrupted, what was attacked so far counts."""
    reports = [scratch / f"share-{first}.jsonl" for first in range(SHARES)]
    children = [
        forked(lambda first=first, report=report: _attack_in_turn(attack, range(first, count, SHARES), report))
        for first, report in enumerate(reports)
    ]
    section = Section()
    try:
        for child in children:
            if code := exit_code(child, 10 * 3600):
                section.add(f"process {child}", f"{FAULT}share ended", f"exit code {code}")
    except KeyboardInterrupt:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    for report in reports:
        for line in report.read_text().splitlines() if report.exists() else ():
            section.add(*json.loads(line))
    return section


def _attack_in_turn(attack: Callable[[int], Answer], numbers: range, report: Path) -> None:
    with open(report, "a", encoding="utf-8") as file:
        for number in numbers:
            file.write(json.dumps(attack(number)) + "\n")
            file.flush()
