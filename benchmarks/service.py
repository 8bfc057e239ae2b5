"""How much `permparse serve` takes: load, overload, a soak, fuzzed bodies, giant sentences; with the parser in the box.

    python benchmarks/service.py --output results/bench_service.json

Clients run in the same machine as the service and share its cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from permparse.base.provenance import Provenance
from permparse.tasks import get_task

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Phase:
    """What came of one phase; times in milliseconds, of requests that were answered 200."""

    name: str
    clients: int
    seconds: float
    statuses: dict[str, int]
    requests_per_second: float
    cpu_ms_per_answer: float
    """CPU time of the service; unlike the rest, it hardly depends on what else the machine does."""
    p50: float
    p99: float
    memory_before_mb: float
    memory_after_mb: float


class Service:
    """A service in a process of its own."""

    def __init__(self, *options: str) -> None:
        self.port = random.randint(20_000, 40_000)
        command = [sys.executable, "-m", "permparse", "serve", "--port", str(self.port), *options]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def ready(self) -> None:
        while True:
            try:
                if await ask(self.port, b"", "GET", "/ready") == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.2)


async def ask(port: int, body: bytes, method: str = "POST", path: str = "/parse") -> int:
    """Send one request over a new connection; its status."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        return await send(reader, writer, body, method, path, "close")
    finally:
        writer.close()


async def send(reader, writer, body: bytes, method: str, path: str, connection: str = "keep-alive") -> int:
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: {connection}\r\ncontent-type: application/json\r\n"
    )
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(answer.split(b" ", 2)[1])


async def client(port: int, bodies: list[bytes], until: float, times: list[float], statuses: Counter[str]) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    while time.monotonic() < until:
        start = time.perf_counter()
        status = await send(reader, writer, random.choice(bodies), "POST", "/parse")
        statuses[str(status)] += 1
        if status == 200:
            times.append(1000 * (time.perf_counter() - start))
    writer.close()


async def phase(service: Service, name: str, clients: int, seconds: float, bodies: list[bytes]) -> Phase:
    times: list[float] = []
    statuses: Counter[str] = Counter()
    before, cpu, start = service.memory_mb(), service.cpu_seconds(), time.monotonic()
    tasks = [client(service.port, bodies, start + seconds, times, statuses) for _ in range(clients)]
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, BaseException):
            statuses[type(result).__name__] += 1
    took = time.monotonic() - start
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    rate = round(statuses["200"] / took, 1)
    cpu_ms = round(1000 * (service.cpu_seconds() - cpu) / max(1, statuses["200"]), 1)
    p50, p99, after = round(cuts[49], 1), round(cuts[98], 1), service.memory_mb()
    found = Phase(name, clients, round(took, 1), dict(statuses), rate, cpu_ms, p50, p99, before, after)
    print(found, flush=True)
    return found


async def fuzz(service: Service, number: int) -> Phase:
    chance, statuses, start = random.Random(0), Counter(), time.monotonic()
    before = service.memory_mb()
    for _ in range(number):
        statuses[str(await ask(service.port, fuzzed(chance)))] += 1
    found = Phase(
        "fuzz", 1, round(time.monotonic() - start, 1), dict(statuses), 0, 0, 0, 0, before, service.memory_mb()
    )
    print(found, flush=True)
    return found


def fuzzed(chance: random.Random) -> bytes:
    """A body that is nearly right, or not at all."""
    body = bytearray(json.dumps({"sentence": "Ines gave a bell to Dora .", "n_best": 2, "details": True}).encode())
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        for _ in range(chance.randint(1, 5)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        return bytes(body)
    if kind == 2:
        values = [None, 1, -1, 1e308, True, [], {}, "", "\u0000", "\ud800", [[]], ["a", None], "a" * 20_001, 2**70]
        keys = ["sentence", "n_best", "details", "other"]
        return json.dumps({key: chance.choice(values) for key in chance.sample(keys, chance.randint(0, 4))}).encode()
    signs = "".join(
        chr(chance.choice([chance.randrange(0xD800), chance.randrange(0xE000, 0x110000)])) for _ in range(60)
    )
    return json.dumps({"sentence": signs, "details": bool(chance.randrange(2))}).encode()


async def giants(service: Service) -> dict[str, list[float]]:
    """Status and seconds of sentences that are far too long."""
    found = {}
    sentences = {
        "5,000 words": "the nurse slept . " * 1250,
        "one word 3,000 times": "nurse " * 3000,
        "one word 119 times": "nurse " * 119,
    }
    for name, text in sentences.items():
        for n_best in (1, 20):
            start = time.monotonic()
            status = await ask(service.port, json.dumps({"sentence": text, "n_best": n_best}).encode())
            found[f"{name}, n_best {n_best}"] = [status, round(time.monotonic() - start, 2)]
    print(found, flush=True)
    return found


async def measure(arguments: argparse.Namespace) -> dict[str, object]:
    task = get_task("fragment")
    bodies = [json.dumps({"sentence": example.sentence}).encode() for example in task.load("test")[:100]]
    many = [json.dumps({"sentence": [e.sentence for e in task.load("test")[:50]]}).encode()]
    service = Service()
    try:
        await service.ready()
        await phase(service, "warm", 8, 3, bodies)
        phases = [
            await phase(service, "load", 64, arguments.seconds, bodies),
            await phase(service, "overload", 200, arguments.seconds / 2, many),
            await fuzz(service, arguments.bodies),
            await phase(service, "soak", 16, arguments.soak, bodies),
        ]
        large = await giants(service)
    finally:
        service.process.terminate()
        code = service.process.wait(60)
    return {**asdict(Provenance()), "phases": [asdict(one) for one in phases], "giants": large, "exit_code": code}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--soak", type=float, default=120)
    parser.add_argument("--bodies", type=int, default=5000)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    found = asyncio.run(measure(arguments))
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
