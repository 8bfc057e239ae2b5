"""The service: answers, typed errors, and nothing of the inside in any of them."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from permparse import Parser, UserError
from permparse.parsers import Parse
from permparse.service.app import create_app
from permparse.service.settings import ServiceSettings
from permparse.tasks import get_task
from service.in_process import OUTPUT, SENTENCE, Client, Gate

TOKEN = "a secret of many letters"

pytestmark = pytest.mark.usefixtures("_cold")


@pytest.fixture(scope="module")
def client(box: Parser) -> Iterator[Client]:
    with Client(create_app(ServiceSettings(model="fragment", max_items=20), lambda: box)) as started:
        yield started


def test_one_sentence_is_parsed(client: Client) -> None:
    response = client.parse(SENTENCE)
    assert response.status_code == 200
    assert response.json()["answers"][0]["parse"]["output"] == OUTPUT
    assert response.json()["answers"][0]["explanation"] is None
    assert response.json()["errors"] == []


def test_the_answer_is_that_of_the_library(client: Client, box: Parser) -> None:
    answer = client.parse(SENTENCE, n_best=3).json()["answers"][0]["parse"]
    expected = json.loads(box.parse(SENTENCE, n_best=3).to_json())
    assert answer.keys() == expected.keys()
    assert answer["multisets"] == expected["multisets"]
    assert [one["output"] for one in answer["alternatives"]] == [one["output"] for one in expected["alternatives"]]


def test_many_sentences_are_answered_in_order_and_errors_name_their_item(client: Client) -> None:
    sentences = [SENTENCE, "", "the nurse slept .", "a\x00b"]
    response = client.parse(sentences)
    assert response.status_code == 200
    answers, errors = response.json()["answers"], response.json()["errors"]
    assert [answer is None for answer in answers] == [False, True, False, True]
    assert [(error["item"], error["code"]) for error in errors] == [(1, "invalid_sentence"), (3, "invalid_sentence")]
    assert answers[2]["parse"]["output"] == "the nurse(1); sleep(2, agent=1)"


def test_details_explain_every_step(client: Client) -> None:
    answer = client.parse(SENTENCE, details=True).json()["answers"][0]
    explained, n = answer["explanation"], len(answer["parse"]["tokens"])
    assert len(explained["u"]) == len(explained["jump_marginals"]) == n
    assert len(explained["step_probs"]) == n + 1
    assert len(explained["word_probs"]) == len(answer["parse"]["words"])
    assert set(explained["seconds"]) == {"read", "tag", "score jumps", "order", "relax"}


def test_a_sentence_that_cannot_be_parsed_is_the_clients_mistake(client: Client) -> None:
    response = client.parse("")
    assert response.status_code == 422
    assert response.json()["errors"][0]["item"] == 0


def test_too_long_a_sentence_is_refused(client: Client) -> None:
    for text in ("nurse " * 3000, "the nurse slept . " * 1250, "nurse " * 121):
        response = client.parse(text)
        assert response.status_code == 422
        assert response.json()["errors"][0]["code"] in ("too_long", "invalid_request")
    assert client.parse("nurse " * 100).status_code == 200
    assert "at most 40 words with n_best = 5" in client.parse("nurse " * 50, n_best=5).text


def test_too_many_items_and_too_large_a_body_are_refused(client: Client) -> None:
    assert client.parse(["a"] * 21).json()["errors"][0]["code"] == "too_many_items"
    response = client.post(content=b"x" * 300_000, headers={"content-type": "application/json"})
    assert response.status_code == 413
    assert response.json()["errors"][0]["code"] == "too_large"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"sentence": 3}',
        b'{"sentence": null}',
        b'{"sentence": ["a", 3]}',
        b'{"sentence": "a", "n_best": 0}',
        b'{"sentence": "a", "n_best": 1e9}',
        b'{"sentence": "a", "n_best": true}',
        b'{"sentence": "a", "details": "yes"}',
        b'{"sentence": "a", "more": 1}',
        b'{"sentence": "\\ud800"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"sentence": NaN}',
    ],
)
def test_malformed_bodies_get_a_typed_error(client: Client, body: bytes) -> None:
    response = client.post(content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422), response.text
    errors = response.json()["errors"]
    assert errors[0]["code"] in ("invalid_request", "invalid_sentence")
    assert "Traceback" not in response.text
    assert "/src/" not in response.text


def test_an_error_of_validation_names_the_item(client: Client) -> None:
    errors = client.post(json={"sentence": ["a", 3]}).json()["errors"]
    assert 1 in [error["item"] for error in errors]


def test_unknown_pages_and_methods_get_typed_errors(client: Client) -> None:
    assert client.get("/nothing").json()["errors"][0]["code"] == "not_found"
    assert client.get("/../../etc/passwd").status_code == 404
    assert client.get("/parse").json()["errors"][0]["code"] == "method_not_allowed"


def test_every_answer_has_security_headers(client: Client) -> None:
    for path in ("/", "/health", "/nothing", "/style.css", "/metrics"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "unsafe-inline" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]


def test_the_page_needs_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/").text
    assert "<title>permparse</title>" in page
    folder = Path(create_app.__code__.co_filename).parent / "page"
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path.name
        assert "https://" not in text, path.name
        assert client.get(f"/{path.name}").status_code == 200


def test_what_there_is_to_know(client: Client) -> None:
    assert client.get("/health").json() == client.get("/ready").json() == {"status": "ok"}
    model = client.get("/model").json()
    assert model["name"] == "fragment"
    assert model["limits"]["items"] == 20
    assert model["samples"] == list(get_task("fragment").samples)
    assert client.post(json={"sentence": SENTENCE}).status_code == 200
    metrics = client.get("/metrics").text
    assert 'permparse_requests_total{path="/parse",status="200"}' in metrics
    assert "permparse_queue_sentences 0.0" in metrics
    schema = client.get("/openapi.json").json()
    assert {"/parse", "/model", "/health", "/ready", "/metrics"} <= schema["paths"].keys()


def test_one_sentence_that_breaks_the_parser_costs_no_other_its_answer(box: Parser) -> None:
    class Fragile(Gate):
        def parse_each(self, sentences: list[str], n_best: int = 1) -> list[Parse | UserError]:
            if "break" in sentences:
                raise RuntimeError("secret /path")
            return self.box.parse_each(sentences, n_best)

    with Client(create_app(ServiceSettings(model="x"), lambda: Fragile(box))) as client:  # type: ignore[arg-type, return-value]
        response = client.parse(["the nurse slept .", "break"])
        alone = client.parse("break")
    assert response.status_code == 200
    assert response.json()["answers"][0] is not None
    assert response.json()["errors"][0]["code"] == "internal"
    assert alone.status_code == 500
    assert "secret" not in response.text + alone.text


def test_before_it_is_ready_it_says_so(box: Parser) -> None:
    wait = threading.Event()

    def slowly() -> Parser:
        assert wait.wait(60)
        return box

    with Client(create_app(ServiceSettings(model="x"), slowly), wait=False) as client:
        assert client.get("/health").status_code == 200
        for response in (client.get("/ready"), client.get("/model"), client.parse(SENTENCE)):
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert response.json()["errors"][0]["code"] == "not_ready"
        wait.set()
        assert client.app.state.batcher.ready.wait(60)
        assert client.get("/ready").status_code == 200


def test_a_parser_that_cannot_be_loaded_makes_it_unhealthy() -> None:
    with Client(create_app(ServiceSettings(model="nowhere")), wait=False) as client:
        client.app.state.batcher._thread.join(60)
        assert client.get("/health").status_code == 503
        assert client.parse(SENTENCE).status_code == 503


def test_a_token_guards_everything_but_the_page(box: Parser) -> None:
    with Client(create_app(ServiceSettings(model="x", token=TOKEN), lambda: box)) as client:
        assert client.get("/").status_code == client.get("/health").status_code == 200
        for path in ("/model", "/metrics", "/openapi.json"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
            assert client.get(path, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert client.parse(SENTENCE).json()["errors"][0]["code"] == "unauthorized"


def test_a_foreign_host_name_is_refused(box: Parser) -> None:
    settings = ServiceSettings(model="x", hosts=("localhost",))
    with Client(create_app(settings, lambda: box)) as client:
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 400


def test_the_log_holds_no_sentence_unless_asked(box: Parser, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "permparse.service")
    for log_text in (False, True):
        caplog.clear()
        with Client(create_app(ServiceSettings(model="x", log_text=log_text), lambda: box)) as client:
            client.parse(SENTENCE)
        assert ("Ines" in caplog.text) == log_text
        line: dict = caplog.records[0].msg  # type: ignore[assignment]
        assert (line["path"], line["status"], line["items"]) == ("/parse", 200, 1)


def test_settings_travel_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERMPARSE_SERVICE", "")
    settings = ServiceSettings(model="x", token=TOKEN, workers=2)
    settings.to_environment()
    assert ServiceSettings.from_environment() == settings
