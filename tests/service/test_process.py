"""The service as a process: stopped under load it answers what it accepted; a killed worker is replaced."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from permparse.cli import run
from service.running import Running, running

SENTENCE = "Ines gave a bell to Dora ."


def test_sigterm_under_load_answers_every_accepted_request(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        answered, failed, stop = [], [], threading.Event()

        def ask() -> None:
            while not stop.is_set():
                try:
                    answered.append(service.parse(SENTENCE)["answers"][0]["parse"]["output"])
                except HTTPError as error:
                    with error:
                        failed.append(error.code)
                except (URLError, ConnectionError, OSError):
                    return  # The socket is closed: nothing was accepted.

        clients = [threading.Thread(target=ask) for _ in range(16)]
        for client in clients:
            client.start()
        while len(answered) < 40:
            time.sleep(0.01)
        code = service.stop()
        stop.set()
        for client in clients:
            client.join(60)
    assert code == 0
    assert set(failed) <= {503}
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    requests = [line for line in lines if line.get("path") == "/parse"]
    assert sum(line["status"] == 200 for line in requests) == len(answered)
    closed = next(line for line in lines if line.get("event") == "closed")
    assert closed["unanswered"] == 0


def test_no_kernel_is_compiled_once_it_is_ready() -> None:
    """In a process of its own: here, other tests have compiled them."""
    code = """
import sys
from numba.core.registry import CPUDispatcher
from permparse import Parser
from permparse.service.batcher import warm_up

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("permparse")]
    kernels = [one for module in modules for one in vars(module).values() if isinstance(one, CPUDispatcher)]
    return sum(len(kernel.signatures) for kernel in kernels)

parser = Parser.load("fragment")
warm_up(parser)
before = compiled()
assert before > 10
for text in ("nurse", "nurse " * 20, "nurse " * 60, "a b c d e f g", "the nurse saw " * 6):
    parser.explain(parser.parse(text))
for text in ("nurse " * 20, "the nurse saw " * 5):
    parser.explain(parser.parse(text, n_best=20))
assert compiled() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_a_killed_worker_costs_the_others_nothing_and_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, "--workers", "2") as service:
        started = re.compile(r"Started server process \[(\d+)\]")
        deadline = time.monotonic() + 300
        while len(first := started.findall(service.log.read_text())) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        os.kill(int(first[0]), signal.SIGKILL)
        time.sleep(0.2)
        statuses: set[int] = set()
        while len(started.findall(service.log.read_text())) < 3:
            assert time.monotonic() < deadline
            statuses.add(_status(service))
            time.sleep(0.1)
        assert statuses <= {200, 503}  # 503: the new worker is still loading.
        assert 200 in statuses
        assert "permparse_requests_total" in service.get("/metrics").decode()


def _status(service: Running) -> int:
    try:
        service.parse(SENTENCE)
    except HTTPError as error:
        with error:
            return error.code
    return 200


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["--host", "0.0.0.0", "--token", "short"], "at least 16 characters"),
        (["nowhere"], "no such folder"),
        (["--host", "256.1.1.1", "--token", "x" * 16], "256.1.1.1"),
    ],
)
def test_a_mistake_gets_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERMPARSE_TOKEN", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["serve", *arguments]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1
