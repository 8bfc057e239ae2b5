"""How much `permparse serve` takes: load, overload, fuzzed bodies, a soak, giant sentences; with the parser in the box.

    python benchmarks/service.py --output results/bench_service.json

Clients run in the same machine as the service and share its cores; `cores` says how much of them the service was given.
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
from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

import uvloop

from permparse.base.provenance import Provenance
from permparse.tasks import get_task

HOST = "127.0.0.1"
TEN = 10
SAMPLES = 20
"""How often memory is looked at in a phase."""
MOST_CONNECTIONS = 8000


@dataclass(frozen=True)
class Phase:
    """What came of one phase; times in milliseconds."""

    name: str
    seconds: float
    offered_per_second: float
    """Sentences."""
    parsed_per_second: float
    """Sentences, of requests that were answered 200."""
    statuses: dict[str, int]
    p50: float
    p99: float
    refused_p50: float
    refused_p99: float
    """Until a 503."""
    cores: float
    """CPU seconds of the service per second."""
    cpu_ms_per_sentence: float
    """CPU time of the service per sentence parsed; unlike the rest, it hardly depends on what else the machine does."""
    memory_mb: list[float]
    """Of all processes of the service, from the beginning to the end."""


@dataclass
class Tally:
    """What a phase has seen so far."""

    statuses: Counter[str] = field(default_factory=Counter)
    times: dict[str, list[float]] = field(default_factory=dict)
    asked: int = 0
    rates: tuple[float, float] | None = None

    def end(self, seconds: float) -> None:
        """Keep the rates of requests and of answers until now; what is answered later does not count."""
        self.rates = self.asked / seconds, self.statuses["200"] / seconds

    async def ask(self, connection: Connection, body: bytes) -> None:
        """Send one request and note what comes of it."""
        start = time.perf_counter()
        self.asked += 1
        try:
            status = str(await connection.ask(body))
        except OSError as error:
            status = type(error).__name__
        self.statuses[status] += 1
        self.times.setdefault(status, []).append(1000 * (time.perf_counter() - start))

    def quantiles(self, status: str) -> tuple[float, float]:
        """Median and 99th percentile of the times until an answer."""
        times = self.times.get(status, [])
        cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
        return round(cuts[49], 1), round(cuts[98], 1)


class Service:
    """A service in processes of its own."""

    def __init__(self, workers: int) -> None:
        self.port = random.randint(20_000, 40_000)
        command = [sys.executable, "-m", "permparse", "serve", "--port", str(self.port), "--workers", str(workers)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def processes(self) -> list[Path]:
        """What the kernel tells about each of its processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [Path("/proc") / pid for pid in (str(self.process.pid), *children)]

    def memory_mb(self) -> float:
        """The memory of all processes, pages that they share counted once."""
        lines = [(process / "smaps_rollup").read_text() for process in self.processes()]
        return round(sum(int(text.split("\nPss:")[1].split()[0]) for text in lines) / 1024, 1)

    def cpu_seconds(self) -> float:
        """The processor time of all processes."""
        fields = [(process / "stat").read_text().rpartition(")")[2].split() for process in self.processes()]
        return sum(int(of[11]) + int(of[12]) for of in fields) / os.sysconf("SC_CLK_TCK")

    async def ready(self) -> None:
        """Wait until a row of new connections all find a worker that is ready."""
        in_a_row = 0
        while in_a_row < 20:
            try:
                connection = await connect(self.port)
                in_a_row = in_a_row + 1 if await connection.ask(b"", "GET", "/ready") == 200 else 0
                connection.close()
            except OSError:
                in_a_row = 0
            await asyncio.sleep(0.05 if in_a_row else 0.3)


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self.received, self.waiting = bytearray(), asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def ask(self, body: bytes, method: str = "POST", path: str = "/parse") -> asyncio.Future[int]:
        """Send a request; its status."""
        self.received.clear()
        self.waiting = asyncio.get_running_loop().create_future()
        if self.transport.is_closing():
            self.waiting.set_exception(ConnectionResetError())
            return self.waiting
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        return self.waiting

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = bytes(self.received).partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            self._settle(int(head.split(b" ", 2)[1]))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.waiting.done():
            self.waiting.set_exception(ConnectionResetError())

    def _settle(self, status: int) -> None:
        if not self.waiting.done():
            self.waiting.set_result(status)

    def close(self) -> None:
        """End the connection."""
        self.transport.close()


async def connect(port: int) -> Connection:
    """A new connection to the service."""
    return (await asyncio.get_running_loop().create_connection(Connection, HOST, port))[1]


async def observed(service: Service, name: str, seconds: float, work, sentences: int = 1) -> Phase:
    """Run what makes a tally, of requests of so many sentences, and look at the service meanwhile."""
    tally, memory, watching = Tally(), [service.memory_mb()], True

    async def watch() -> None:
        while watching:
            await asyncio.sleep(max(1.0, seconds / SAMPLES))
            memory.append(service.memory_mb())

    cpu, start, watcher = service.cpu_seconds(), time.monotonic(), asyncio.create_task(watch())
    await work(tally)
    took, cpu = time.monotonic() - start, service.cpu_seconds() - cpu
    watching = False
    watcher.cancel()
    memory.append(service.memory_mb())
    if tally.rates is None:
        tally.end(took)
    answers = sentences * tally.statuses["200"]
    found = Phase(
        name,
        round(took, 1),
        *(round(sentences * rate, 1) for rate in tally.rates),
        dict(sorted(tally.statuses.items())),
        *tally.quantiles("200"),
        *tally.quantiles("503"),
        round(cpu / took, 2),
        round(1000 * cpu / max(1, answers), 2),
        memory,
    )
    print(found, flush=True)
    return found


async def closed_loop(service: Service, name: str, clients: int, seconds: float, bodies: list[bytes]) -> Phase:
    """So many clients, each of which asks again as soon as it is answered."""

    async def work(tally: Tally) -> None:
        until = time.monotonic() + seconds

        async def client() -> None:
            connection = await connect(service.port)
            while time.monotonic() < until:
                await tally.ask(connection, random.choice(bodies))
            connection.close()

        await asyncio.gather(*(client() for _ in range(clients)))

    return await observed(service, name, seconds, work)


async def open_loop(
    service: Service, name: str, rate: float, seconds: float, bodies: list[bytes], sentences: int = 1
) -> Phase:
    """So many requests per second, whether those before are answered or not."""

    async def work(tally: Tally) -> None:
        idle: deque[Connection] = deque()
        asked: set[asyncio.Task[None]] = set()

        async def one() -> None:
            connection = idle.popleft() if idle else await connect(service.port)
            await tally.ask(connection, random.choice(bodies))
            if not connection.transport.is_closing():
                idle.append(connection)

        start, sent = time.monotonic(), 0
        while (now := time.monotonic() - start) < seconds:
            while sent < now * rate and len(asked) < MOST_CONNECTIONS:
                asked.add(task := asyncio.create_task(one()))
                task.add_done_callback(asked.discard)
                sent += 1
            await asyncio.sleep(0.002)
        tally.end(now)
        await asyncio.gather(*asked)
        for connection in idle:
            connection.close()

    return await observed(service, name, seconds, work, sentences)


async def fuzz(service: Service, number: int) -> Phase:
    """Bodies that are nearly right, or not at all."""

    async def work(tally: Tally) -> None:
        chance = random.Random(0)
        for _ in range(number):
            connection = await connect(service.port)
            await tally.ask(connection, fuzzed(chance))
            connection.close()

    return await observed(service, "fuzz", 60, work)


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
            connection, start = await connect(service.port), time.monotonic()
            status = await connection.ask(json.dumps({"sentence": text, "n_best": n_best}).encode())
            found[f"{name}, n_best {n_best}"] = [status, round(time.monotonic() - start, 2)]
            connection.close()
    print(found, flush=True)
    return found


async def measure(arguments: argparse.Namespace) -> dict[str, object]:
    sentences = [example.sentence for example in get_task("fragment").load("test")[:100]]
    bodies = [json.dumps({"sentence": one}).encode() for one in sentences]
    tens = [json.dumps({"sentence": sentences[i : i + TEN]}).encode() for i in range(0, len(sentences), TEN)]
    service = Service(arguments.workers)
    try:
        await service.ready()
        large = await giants(service)
        await closed_loop(service, "warm", 8, 3, bodies)
        load = await closed_loop(service, "load: 64 clients", 64, arguments.seconds, bodies)
        capacity, half = load.parsed_per_second, arguments.seconds / 2
        phases = [
            load,
            await open_loop(service, "overload: ten times that, ten to a request", capacity, half, tens, TEN),
            await open_loop(service, "overload: three times that, one to a request", 3 * capacity, half, bodies),
            await fuzz(service, arguments.bodies),
            await open_loop(service, "soak", arguments.soak_rate, arguments.soak, bodies),
        ]
    finally:
        service.process.terminate()
        code = service.process.wait(120)
    found = {"workers": arguments.workers, "giants": large, "phases": [asdict(one) for one in phases]}
    return {**asdict(Provenance()), **found, "exit_code": code}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="of load; the overload lasts half as long")
    parser.add_argument("--soak", type=float, default=600, help="seconds of the soak")
    parser.add_argument("--soak-rate", type=float, default=20, help="requests per second of the soak")
    parser.add_argument("--bodies", type=int, default=5000, help="how many are fuzzed")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    found = uvloop.run(measure(arguments))
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
