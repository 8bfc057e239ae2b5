"""What every request passes through: its log line, security headers, the token, and the limit of its body."""

from __future__ import annotations

import hmac
import json
import logging
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
                MutableHeaders(scope=message).update(SECURITY)
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
        log.info(json.dumps(line | scope["state"].get("log", {}), ensure_ascii=False))


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
