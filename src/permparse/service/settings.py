"""What a service may be told: which parser, whom it answers, and the limits of a request."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field

ENVIRONMENT = "PERMPARSE_SERVICE"
"""Carries the settings from the command line to worker processes."""


class ServiceSettings(BaseModel):
    """The settings of one service; every worker process has the same."""

    model_config = ConfigDict(frozen=True)

    model: str
    """Whatever `Parser.load` takes."""
    token: str | None = None
    """If set, requests must send it as `Authorization: Bearer …`."""
    hosts: tuple[str, ...] = ()
    """Names under which the service may be addressed; any if empty."""
    log_text: bool = False
    """Write the sentences of requests to the log."""
    workers: int = Field(default=1, ge=1)
    """Processes that share the socket."""
    max_words: int = Field(default=120, ge=1)
    """Words of a sentence."""
    max_items: int = Field(default=256, ge=1)
    """Sentences of a request."""
    max_bytes: int = Field(default=256 * 1024, ge=1)
    """Size of a request body."""
    max_queue: int = Field(default=1024, ge=1)
    """Sentences that may wait in one worker; more are refused with 503."""
    max_seconds: float = Field(default=20.0, gt=0)
    """Time from accepting a request to giving it up with 504."""

    def to_environment(self) -> None:
        """Leave the settings to processes that start later."""
        os.environ[ENVIRONMENT] = self.model_dump_json()

    @classmethod
    def from_environment(cls) -> ServiceSettings:
        """What `to_environment` left."""
        return cls.model_validate_json(os.environ[ENVIRONMENT])
