"""The application: `POST /parse`, what there is to know about the service, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from permparse import __version__
from permparse.parsers import Parser
from permparse.service.batcher import Batcher, Job, Overloaded, Refusal
from permparse.service.messages import (
    MOST_BEST,
    Answer,
    ErrorResponse,
    Limits,
    ModelResponse,
    ParseRequest,
    ParseResponse,
    Problem,
    Status,
)
from permparse.service.metrics import Metrics
from permparse.service.middleware import (
    BodyLimit,
    Observed,
    Shed,
    TokenGuard,
    error_response,
    log,
    overloaded_response,
)
from permparse.service.settings import ServiceSettings
from permparse.service.static import add_page

RETRY_AFTER = 1
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": what}
    for status, what in {
        400: "the body is not JSON",
        401: "no or a wrong token",
        413: "the body is too large",
        422: "nothing in the request can be parsed",
        503: "not ready, or too much to do; try again after Retry-After seconds",
        504: "not answered in time",
    }.items()
}
STATUS_CODES = {"too_many_items": 422, "invalid_sentence": 422, "too_long": 422, "timeout": 504, "internal": 500}


def create_app(settings: ServiceSettings, load: Callable[[], Parser] | None = None) -> FastAPI:
    """The application of a service; ``load`` gives the parser that ``settings.model`` names, unless it is told to."""
    metrics = Metrics(settings.workers > 1)
    load = load or (lambda: Parser.load(settings.model))
    batcher = Batcher(load, settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        torch.set_num_threads(max(1, torch.get_num_threads() // settings.workers))
        batcher.start()
        yield
        await asyncio.to_thread(batcher.close)
        log.info({"event": "closed", "unanswered": batcher.waiting})

    app = FastAPI(
        title="permparse",
        version=__version__,
        summary="Sentences to structured output: multisets of tokens, put in order by jumps.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.batcher, app.state.metrics = batcher, metrics
    _add_routes(app, settings, batcher, metrics)
    add_page(app)
    _add_error_handlers(app)
    app.add_middleware(BodyLimit, max_bytes=settings.max_bytes)
    if settings.token:
        app.add_middleware(TokenGuard, token=settings.token)
    if settings.hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts))
    app.add_middleware(Observed, metrics=metrics)
    return app


def shed(app: FastAPI) -> Shed:
    """The application as it is served: an overload does not even reach it."""
    return Shed(app, app.state.batcher, app.state.metrics)


def from_environment() -> Shed:
    """The application of a worker process."""
    from permparse.service.run import log_to_stderr

    log_to_stderr()
    return shed(create_app(ServiceSettings.from_environment()))


def _add_routes(app: FastAPI, settings: ServiceSettings, batcher: Batcher, metrics: Metrics) -> None:
    @app.post("/parse", responses=ERRORS)
    async def parse(request: Request, wanted: ParseRequest) -> ParseResponse:
        """Parse one sentence or many. A sentence that cannot be parsed gets null and an error with its index; if none
        can, the status is 422."""
        start = perf_counter()
        found = await _answers(wanted, settings, batcher)
        note = {"items": len(wanted.sentences), "errors": len(found.errors)}
        request.state.log = note | ({"sentences": wanted.sentences} if settings.log_text else {})
        metrics.seconds.observe(perf_counter() - start)
        metrics.sentences.labels("parsed").inc(len(found.answers) - len(found.errors))
        metrics.sentences.labels("refused").inc(len(found.errors))
        if found.errors and not any(found.answers):
            raise _Failed(found.errors)
        return found

    @app.get("/health")
    async def health() -> Status:
        """Whether the process can still parse; for a supervisor that restarts it."""
        if not batcher.alive:
            raise HTTPException(503, "the parser could not be loaded")
        return Status(status="ok")

    @app.get("/ready", responses={503: ERRORS[503]})
    async def ready() -> Status:
        """Whether the parser is loaded and warm; for a balancer that sends requests."""
        _require_ready(batcher)
        return Status(status="ok")

    @app.get("/model", responses={status: ERRORS[status] for status in (401, 503)})
    async def model() -> ModelResponse:
        """What the service parses with, and what it accepts."""
        return _described(settings, _require_ready(batcher))

    @app.get("/metrics", response_class=Response, responses={401: ERRORS[401]})
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _require_ready(batcher: Batcher) -> Parser:
    if not batcher.ready.is_set() or batcher.parser is None:
        raise HTTPException(503, "the parser is being loaded")
    return batcher.parser


def _described(settings: ServiceSettings, parser: Parser) -> ModelResponse:
    return ModelResponse(
        name=Path(settings.model).name,
        task=parser.task.name,
        summary=parser.task.summary,
        facts=parser.facts(),
        version=__version__,
        samples=list(parser.task.samples),
        deep_samples=list(parser.task.deep_samples),
        limits=Limits(
            words=settings.max_words,
            items=settings.max_items,
            bytes=settings.max_bytes,
            n_best=MOST_BEST,
            seconds=settings.max_seconds,
        ),
    )


async def _answers(wanted: ParseRequest, settings: ServiceSettings, batcher: Batcher) -> ParseResponse:
    """An answer or an error for every sentence, once the thread has parsed them all or the time is over."""
    texts = wanted.sentences
    if len(texts) > settings.max_items:
        message = f"expected at most {settings.max_items} sentences, got {len(texts):,}"
        raise _Failed([Problem(code="too_many_items", message=message)])
    _require_ready(batcher)
    jobs = [Job(text, wanted.n_best, wanted.details) for text in texts]
    batcher.submit(jobs)
    futures = [asyncio.wrap_future(job.answer) for job in jobs]
    if futures:
        _, late = await asyncio.wait(futures, timeout=settings.max_seconds)
        for future in late:
            future.cancel()
    results = [_result(future, item, settings.max_seconds) for item, future in enumerate(futures)]
    return ParseResponse(
        answers=[result if isinstance(result, Answer) else None for result in results],
        errors=[result for result in results if isinstance(result, Problem)],
    )


def _result(future: asyncio.Future[Answer], item: int, seconds: float) -> Answer | Problem:
    if not future.done() or future.cancelled():
        return Problem(code="timeout", message=f"not answered within {seconds:g} seconds", item=item)
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Refusal):
        return Problem(code=error.code, message=str(error), item=item)
    log.error({"event": "fault", "type": type(error).__name__})
    return Problem(code="internal", message="a fault of permparse; the sentence was not parsed", item=item)


class _Failed(Exception):
    """A request of which nothing was answered."""

    def __init__(self, errors: list[Problem]) -> None:
        self.errors = errors
        self.status = max(STATUS_CODES[error.code] for error in errors)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(_Failed)
    async def failed(_: Request, error: _Failed) -> JSONResponse:
        return JSONResponse(ErrorResponse(errors=error.errors).model_dump(), error.status)

    @app.exception_handler(Overloaded)
    async def overloaded(_: Request, error: Overloaded) -> JSONResponse:
        return overloaded_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [_problem(one) for one in error.errors()[:10]]
        return JSONResponse(ErrorResponse(errors=problems).model_dump(), 422)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 503:
            return error_response(503, "not_ready", str(error.detail), RETRY_AFTER)
        if error.status_code == 404:
            return error_response(404, "not_found", "no such page")
        if error.status_code == 405:
            response = error_response(405, "method_not_allowed", "this path takes another method")
            response.headers.update(error.headers or {})
            return response
        return error_response(error.status_code, "invalid_request", "the request cannot be read")

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> JSONResponse:
        log.error({"event": "fault", "type": type(error).__name__})
        return error_response(500, "internal", "a fault of permparse")


def _problem(error: dict[str, Any]) -> Problem:
    """What pydantic found, with the index of the sentence where there is one; what was sent is not repeated."""
    place = [part for part in error["loc"] if part not in ("body", "str", "list[constrained-str]")]
    item = next((part for part in place if isinstance(part, int)), None)
    field = ".".join(str(part) for part in place if isinstance(part, str) and "[" not in part and "-" not in part)
    return Problem(code="invalid_request", message=f"{field or 'body'}: {error['msg']}", item=item)
