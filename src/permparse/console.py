"""The one console: results go to stdout, everything a person reads while waiting goes to stderr."""

from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def note(message: str) -> None:
    """Tell a person at the terminal what happens; markup allowed."""
    err.print(message)
