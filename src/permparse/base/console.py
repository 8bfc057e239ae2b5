"""The one console: results go to stdout, everything a person reads while waiting goes to stderr."""

from __future__ import annotations

from contextlib import suppress

from rich.console import Console
from rich.markup import escape

from permparse.base.errors import printable


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line decide what it means that nobody reads on; rich would exit with code 1."""
        raise BrokenPipeError


out = _Console(highlight=False, soft_wrap=True)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


def note(message: str, **values: object) -> None:
    """Tell a person at the terminal what happens.

    ``message`` may hold markup and names in braces. ``values`` take their place as plain text, so that a folder called
    ``t[/x]`` is printed and not taken for markup: whatever comes from a user goes here. Where nobody listens, because
    stderr is full or its reader has gone, nothing is lost but the message.
    """
    with suppress(OSError):
        err.print(filled(message, **values))


def filled(message: str, **values: object) -> str:
    """The message with each {name} replaced by its value, escaped so that markup and control characters inside a value
    stay text."""
    return (
        message.format(**{name: escape(printable(str(value))) for name, value in values.items()}) if values else message
    )
