"""The one console: results go to stdout, everything a person reads while waiting goes to stderr."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line decide what it means that nobody reads on; rich would exit with code 1."""
        raise BrokenPipeError


out = _Console(highlight=False, soft_wrap=True)
err = _Console(stderr=True, highlight=False, soft_wrap=True)


def note(message: str, **values: object) -> None:
    """Tell a person at the terminal what happens.

    ``message`` may hold markup and names in braces. ``values`` take their place as plain text, so that a folder called
    ``t[/x]`` is printed and not taken for markup: whatever comes from a user goes here.
    """
    err.print(filled(message, **values))


def filled(message: str, **values: object) -> str:
    """The message with each {name} replaced by its value, escaped so that markup inside a value stays text."""
    return message.format(**{name: escape(str(value)) for name, value in values.items()}) if values else message
