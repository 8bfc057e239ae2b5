"""A service in this process: a client that needs no port, and a parser that waits."""

import asyncio
import threading

import httpx
from fastapi import FastAPI

from permparse import Parser, UserError
from permparse.parsers import Parse

SENTENCE = "Ines gave a bell to Dora ."
OUTPUT = "give(1, agent=Ines, theme=3, recipient=Dora); a bell(3)"


class Client:
    """Calls an application in this process, its start and end included."""

    def __init__(self, app: FastAPI, wait: bool = True) -> None:
        self.app, self.wait = app, wait
        self.loop = asyncio.new_event_loop()

    def __enter__(self) -> "Client":
        self.lifespan = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self.lifespan.__aenter__())
        if self.wait:
            assert self.app.state.batcher.ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.run_until_complete(self.lifespan.__aexit__(None, None, None))
        self.loop.close()

    def all(self, *requests: tuple) -> list:
        """The answers to requests that are sent at once: (method, path, keyword arguments)."""

        async def send() -> list:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
                return await asyncio.gather(*(client.request(m, p, **options) for m, p, options in requests))

        return self.loop.run_until_complete(send())

    def get(self, path: str, **options: object):
        return self.all(("GET", path, options))[0]

    def parse(self, sentence: object, **more: object):
        return self.all(("POST", "/parse", {"json": {"sentence": sentence, **more}}))[0]

    def post(self, **options: object):
        return self.all(("POST", "/parse", options))[0]


class Gate:
    """A parser that waits until it is let go on."""

    def __init__(self, box: Parser) -> None:
        self.box, self.task = box, box.task
        self.open = threading.Event()

    def parse_each(self, sentences: list[str], n_best: int = 1) -> list[Parse | UserError]:
        if sentences[0] not in (*self.task.samples, *self.task.deep_samples):
            assert self.open.wait(60)
        return self.box.parse_each(sentences, n_best)

    def explain(self, parse: Parse) -> None:
        return None
