"""What every request passes through: its log line, security headers, the token, and the limit of its body."""

from __future__ import annotations

import hmac
import logging
from functools import lru_cache
from time import monotonic, perf_counter

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from permparse.service.batcher import Batcher, Overloaded
from permparse.service.messages import ErrorCode, ErrorResponse, Problem
from permparse.service.metrics import Metrics

SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
RAW_SECURITY = [(name.encode(), value.encode()) for name, value in SECURITY.items()]
GUARDED = ("/parse", "/model", "/metrics", "/openapi.json")
"""What a token guards; the page itself holds nothing secret."""
log = logging.getLogger("permparse.service")


def error_response(status: int, code: ErrorCode, message: str, retry_after: int | None = None) -> JSONResponse:
    """An error of the whole request."""
    body = ErrorResponse(errors=[Problem(code=code, message=message)])
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(body.model_dump(), status, headers)


@lru_cache(maxsize=100)
def _overloaded(retry_after: int) -> JSONResponse:
    return error_response(503, "overloaded", "too many sentences are waiting", retry_after)


def overloaded_response(refusal: Overloaded) -> JSONResponse:
    """What a client hears when there is too much to do."""
    return _overloaded(refusal.retry_after)


class Observed:
    """Adds security headers to every answer, counts it and writes one JSON line about it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = perf_counter(), 0
        scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *RAW_SECURITY]
            await send(message)

        await self.app(scope, receive, send_with_headers)
        path = getattr(scope.get("route"), "path", None) or "other"
        self.metrics.requests.labels(path, str(status)).inc()
        line = {
            "method": scope["method"],
            "path": path,
            "status": status,
            "ms": round(1e3 * (perf_counter() - start), 1),
        }
        log.info(line | scope["state"].get("log", {}))


class Shed:
    """Refuses sentences while too many wait, before anything of the request is read.

    Refusing must cost far less than parsing, or an overload would leave no time for what was accepted; so the refused
    are counted, and logged once per second.
    """

    def __init__(self, app: ASGIApp, batcher: Batcher, metrics: Metrics) -> None:
        self.app, self.batcher = app, batcher
        self.refused = metrics.requests.labels("/parse", "503")
        self.unsaid, self.said = 0, 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] == "http" and scope["path"] == "/parse" and self.batcher.ready.is_set():
            refusal = self.batcher.refusal()
        if refusal is None:
            await self.app(scope, receive, send)
            return
        answer = overloaded_response(refusal)
        headers = [*answer.raw_headers, *RAW_SECURITY]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        self.refused.inc()
        self.unsaid += 1
        if (now := monotonic()) > self.said + 1:
            log.warning({"event": "overloaded", "refused": self.unsaid, "waiting": self.batcher.waiting})
            self.unsaid, self.said = 0, now


class TokenGuard:
    """Refuses requests without the token; the comparison takes the same time whatever differs."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            given = Headers(scope=scope).get("authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, self.expected):
                refusal = error_response(401, "unauthorized", "expected the header Authorization: Bearer TOKEN")
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies above a size, said in their header or not."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body = b""
        async for chunk in Request(scope, receive).stream():
            body += chunk
            if len(body) > self.max_bytes:
                refusal = error_response(413, "too_large", f"expected a body of at most {self.max_bytes:,} bytes")
                refusal.headers["connection"] = "close"
                await refusal(scope, receive, send)
                return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)
