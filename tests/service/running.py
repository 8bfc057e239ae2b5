"""A service in a process of its own, as a user starts it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

PATIENCE = 240
"""Seconds until a service must be ready: loading compiles kernels on a fresh checkout."""


class Running:
    """A service that answers at ``url``; what it logs is kept in a file."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process, self.url, self.log = process, url, log

    def get(self, path: str) -> bytes:
        with urlopen(self.url + path, timeout=60) as response:
            return bytes(response.read())

    def parse(self, sentence: str) -> dict:
        body = json.dumps({"sentence": sentence}).encode()
        request = Request(self.url + "/parse", body, {"content-type": "application/json"})
        with urlopen(request, timeout=60) as response:
            return json.load(response)

    def stop(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.process.wait(60)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    """Start `permparse serve` and wait until it is ready; it ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "serve.log"
    command = [sys.executable, "-m", "permparse", "serve", "--port", str(port), *options]
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, "OMP_NUM_THREADS": "1"})
    service = Running(process, f"http://127.0.0.1:{port}", log)
    try:
        for _ in range(PATIENCE * 5):
            assert process.poll() is None, log.read_text()
            try:
                service.get("/ready")
                break
            except HTTPError as error:
                error.close()
                time.sleep(0.2)
            except (URLError, ConnectionError):
                time.sleep(0.2)
        else:
            raise AssertionError(f"not ready after {PATIENCE} s: {log.read_text()}")
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
