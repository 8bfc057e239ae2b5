"""`permparse serve`: a page that shows how a parser works, and the HTTP service behind it."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from permparse.base.console import note
from permparse.base.errors import UserError

DEFAULT_MODEL = "fragment"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16


def command(
    model: Annotated[
        str, typer.Argument(help="Folder, packaged file or name of a parser; default: the parser in the box.")
    ] = DEFAULT_MODEL,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; any but loopback needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="PERMPARSE_TOKEN", help="Secret that requests must send as a bearer token."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes that share the work.")] = 1,
    max_words: Annotated[int, typer.Option("--max-words", min=1, help="Most words per sentence.")] = 120,
    max_items: Annotated[int, typer.Option("--max-items", min=1, help="Most sentences per request.")] = 256,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", min=0.1, help="Time after which a request fails.")
    ] = 20,
    max_queue: Annotated[int, typer.Option("--max-queue", min=1, help="Most sentences queued per worker.")] = 1024,
    log_text: Annotated[bool, typer.Option("--log-text", help="Write the sentences of requests to the log.")] = False,
) -> None:
    """Serve a parser: a page at /, POST /parse for programs, /openapi.json for its description.

    Listens only on this machine unless --host says otherwise; then a token is required. Ctrl-C or SIGTERM stops it
    once all accepted requests are answered.

    [bold]Examples[/]

      permparse serve

      permparse serve runs/cogs --port 9000 --workers 2

      curl localhost:8000/parse --json '{"sentence": "Ines gave a bell to Dora ."}'
    """
    from permparse.parsers import Parser

    try:
        from permparse.service.run import serve
        from permparse.service.settings import ServiceSettings
    except ImportError as error:
        missing = error.name or "fastapi"
        raise UserError(f"serving needs {missing}: pip install 'permparse[serve]'") from error

    local = host in LOOPBACK
    if not local and token is None:
        raise UserError(f"--host {host} can be reached from elsewhere: set a secret by --token or PERMPARSE_TOKEN")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise UserError(f"--token: expected at least {SHORTEST_TOKEN} characters, got {len(token)}")
    port = _free_port(host, port)
    settings = ServiceSettings(
        model=model,
        token=token,
        hosts=("127.0.0.1", "localhost", "[::1]") if local else (),
        log_text=log_text,
        workers=workers,
        max_words=max_words,
        max_items=max_items,
        max_seconds=max_seconds,
        max_queue=max_queue,
    )
    Parser.load(model)  # A mistake is told here, in one line and once, before anything listens.
    note("[bold]http://{host}:{port}[/]  [dim]Ctrl-C ends[/]", host=f"[{host}]" if ":" in host else host, port=port)
    serve(settings, host, port)


def _free_port(host: str, port: int) -> int:
    """The port to listen on, a free one for 0; UserError if it cannot be had."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise UserError(f"--host {host} --port {port}: cannot listen there ({error.strerror or error})") from error
