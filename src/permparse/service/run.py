"""Starting a service: the log, the socket, one process or several."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
from datetime import UTC, datetime
from typing import Any

import uvicorn

from permparse.service.settings import ServiceSettings

BACKLOG = 512


class _JsonLines(logging.Formatter):
    """One JSON object per line; a fault names its type and no more."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": record.levelname.lower()}
        fields = record.msg if isinstance(record.msg, dict) else {"event": record.getMessage()}
        return json.dumps(line | fields, ensure_ascii=False)


def log_to_stderr() -> None:
    """Send the log of the service, and what uvicorn says, to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    for name in ("permparse.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").handlers = []
    logging.getLogger("uvicorn.error").propagate = True


def _leave(*_: object) -> None:
    raise SystemExit(0)


def serve(settings: ServiceSettings, host: str, port: int) -> None:
    """Answer requests until told to stop; what was accepted by then is still answered."""
    log_to_stderr()
    # uvicorn handles the signal while it runs, and raises it again once everything is answered.
    signal.signal(signal.SIGTERM, _leave)
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "backlog": BACKLOG,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "date_header": True,
        "timeout_keep_alive": 15,
        "timeout_worker_healthcheck": 60,
    }
    if settings.workers == 1:
        from permparse.service.app import create_app, shed

        uvicorn.run(shed(create_app(settings)), **options)
        return
    with tempfile.TemporaryDirectory(prefix="permparse-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        settings.to_environment()
        uvicorn.run("permparse.service.app:from_environment", factory=True, workers=settings.workers, **options)
