"""The files of the page, read once and served from memory: nothing else on the disk can be asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from fastapi import FastAPI
from fastapi.responses import Response

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
INDEX = "index.html"


def add_page(app: FastAPI) -> None:
    """Add a route for every file of the page, and / for the first."""
    for file in (resources.files("permparse") / "service" / "page").iterdir():
        suffix = file.name[file.name.rindex(".") :]
        response = _response(file.read_bytes(), f"{TYPES[suffix]}; charset=utf-8")
        for path in ("/", f"/{INDEX}") if file.name == INDEX else (f"/{file.name}",):
            app.add_api_route(path, response, include_in_schema=False, response_class=Response)


def _response(content: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    async def file() -> Response:
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    return file
