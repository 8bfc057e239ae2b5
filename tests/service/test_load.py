"""The service under load and at its end: what is parsed together, what is refused, what is still answered."""

import asyncio
import json
import threading
import time

import pytest

from permparse import Parser, UserError
from permparse.parsers import Parse
from permparse.service.app import create_app, shed
from permparse.service.batcher import Batcher, Job, Overloaded
from permparse.service.metrics import Metrics
from permparse.service.middleware import Shed
from permparse.service.settings import ServiceSettings
from service.in_process import OUTPUT, SENTENCE, Client, Gate

pytestmark = pytest.mark.usefixtures("_cold")


def test_requests_of_many_clients_are_parsed_together(box: Parser) -> None:
    sizes: list[int] = []

    class Counting:
        task = box.task

        def parse_each(self, sentences: list[str], n_best: int = 1) -> list[Parse | UserError]:
            sizes.append(len(sentences))
            return box.parse_each(sentences, n_best)

        def explain(self, parse: Parse) -> None:
            return None

    patient = ServiceSettings(model="x", max_seconds=600)  # a busy machine refuses nobody
    with Client(create_app(patient, Counting)) as client:  # type: ignore[arg-type]
        sizes.clear()
        one = ("POST", "/parse", {"json": {"sentence": SENTENCE}})
        responses = client.all(*[one] * 40)
    assert {response.status_code for response in responses} == {200}
    assert sum(sizes) == 40
    assert max(sizes) > 1


def test_a_full_queue_answers_503_and_what_was_accepted_is_answered(box: Parser) -> None:
    gate = Gate(box)
    settings = ServiceSettings(model="x", max_queue=8)
    with Client(create_app(settings, lambda: gate)) as client:  # type: ignore[arg-type, return-value]
        threading.Timer(0.5, gate.open.set).start()
        one = ("POST", "/parse", {"json": {"sentence": "the nurse slept ."}})
        responses = client.all(*[one] * 120)
    codes = [response.status_code for response in responses]
    assert set(codes) == {200, 503}
    assert codes.count(200) >= 8
    refused = next(response for response in responses if response.status_code == 503)
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["errors"][0]["code"] == "overloaded"


def test_a_request_that_takes_too_long_is_given_up(box: Parser) -> None:
    gate = Gate(box)
    settings = ServiceSettings(model="x", max_seconds=0.05)
    with Client(create_app(settings, lambda: gate)) as client:  # type: ignore[arg-type, return-value]
        response = client.parse(["the nurse slept .", "the nurse slept ."])
        gate.open.set()
    assert response.status_code == 504
    assert [error["code"] for error in response.json()["errors"]] == ["timeout", "timeout"]


def test_closing_answers_what_waits(box: Parser) -> None:
    batcher = Batcher(lambda: box, ServiceSettings(model="x"), Metrics())
    batcher.start()
    assert batcher.ready.wait(60)
    jobs = [Job(SENTENCE, 1, False) for _ in range(70)]
    batcher.submit(jobs)
    batcher.close()
    assert all(job.answer.result(0).parse.output == OUTPUT for job in jobs)
    with pytest.raises(Overloaded):
        batcher.submit([Job(SENTENCE, 1, False)])


def test_closing_does_not_wait_for_a_parser_that_is_still_loading(box: Parser) -> None:
    wait = threading.Event()

    def slowly() -> Parser:
        assert wait.wait(60)
        return box

    batcher = Batcher(slowly, ServiceSettings(model="x"), Metrics())
    batcher.start()
    batcher.close()
    assert batcher._thread.is_alive()
    wait.set()
    batcher._thread.join(60)
    assert not batcher.ready.is_set()


def test_a_request_is_taken_whole_or_not_at_all(box: Parser) -> None:
    wait = threading.Event()

    def slowly() -> Parser:
        assert wait.wait(60)
        return box

    batcher = Batcher(slowly, ServiceSettings(model="x", max_queue=5), Metrics())
    batcher.start()
    batcher.submit([Job(SENTENCE, 1, False) for _ in range(3)])
    with pytest.raises(Overloaded):
        batcher.submit([Job(SENTENCE, 1, False) for _ in range(3)])
    assert batcher.waiting == 3
    wait.set()
    assert batcher.ready.wait(60)
    batcher.close()


def test_a_queue_that_would_take_too_long_is_full(box: Parser) -> None:
    batcher = _idle(box, max_seconds=10)
    job = Job(SENTENCE, 1, False)
    batcher._keep_pace(1.0 / job.effort(120))
    batcher.submit([job] * 6)
    with pytest.raises(Overloaded) as refused:
        batcher.submit([job])
    assert refused.value.retry_after == 6


@pytest.mark.parametrize(
    "costly",
    [Job("nurse " * 100, 1, False), Job(SENTENCE, 20, False), Job(SENTENCE, 5, True)],
    ids=["long", "n", "why"],
)
def test_a_queue_of_what_costs_more_is_full_with_less(box: Parser, costly: Job) -> None:
    batcher = _idle(box, max_seconds=10)
    batcher._keep_pace(0.1 / Job(SENTENCE, 1, False).effort(120))
    batcher.submit([costly, costly])
    with pytest.raises(Overloaded):
        batcher.submit([Job(SENTENCE, 1, False)])


def test_a_sentence_that_is_far_too_long_does_not_count_as_one(box: Parser) -> None:
    batcher = _idle(box)
    batcher._keep_pace(1e-6)
    batcher.submit([Job("nurse " * 3000, 1, False)])
    batcher.submit([Job(SENTENCE, 1, False)])


def _idle(box: Parser, **settings: float) -> Batcher:
    """A batcher whose thread never runs."""
    batcher = Batcher(lambda: box, ServiceSettings(model="x", **settings), Metrics())
    batcher._thread.is_alive = lambda: True  # type: ignore[method-assign]
    return batcher


def test_an_overload_is_refused_before_anything_is_read(box: Parser, caplog: pytest.LogCaptureFixture) -> None:
    batcher, metrics = _idle(box, max_queue=1), Metrics()
    batcher.ready.set()
    guard = Shed(_never, batcher, metrics)
    batcher.submit([Job(SENTENCE, 1, False)])
    sent: list = []

    async def send(message: dict) -> None:
        sent.append(message)

    caplog.set_level("INFO", "permparse.service")
    for _ in range(3):
        asyncio.run(guard({"type": "http", "path": "/parse", "method": "POST"}, _never, send))  # type: ignore[arg-type]
    start, body = sent[:2]
    headers = dict(start["headers"])
    assert (start["status"], headers[b"retry-after"], headers[b"x-content-type-options"]) == (503, b"1", b"nosniff")
    assert json.loads(body["body"])["errors"][0]["code"] == "overloaded"
    assert 'permparse_requests_total{path="/parse",status="503"} 3.0' in metrics.text().decode()
    assert [record.msg["event"] for record in caplog.records] == ["overloaded"]  # type: ignore[index]


async def _never(*_: object) -> None:
    raise AssertionError("the request was read")


def test_while_parses_are_refused_all_else_is_answered(box: Parser) -> None:
    gate = Gate(box)
    settings = ServiceSettings(model="x", max_queue=1)
    with Client(create_app(settings, lambda: gate)) as client:  # type: ignore[arg-type, return-value]
        batcher = client.app.state.batcher
        batcher.submit([Job("the nurse slept .", 1, False)])
        while batcher.waiting:  # until it is being parsed
            time.sleep(0.01)
        batcher.submit([Job("the nurse slept .", 1, False)])
        assert client.parse(SENTENCE).status_code == 503
        client.app = shed(client.app)  # type: ignore[assignment]
        assert client.parse(SENTENCE).status_code == 503
        for path in ("/health", "/ready", "/metrics", "/"):
            assert client.get(path).status_code == 200
        gate.open.set()
