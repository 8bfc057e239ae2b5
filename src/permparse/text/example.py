"""One sentence with its output: what a task reads and what the models learn from.

Tokens are plain strings; `Vocabulary` gives them ids, the task gives them meaning.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence and its gold output, as text and as tokens."""

    source: tuple[str, ...]
    """Input tokens x_1..x_m."""
    target: tuple[str, ...]
    """Output tokens y, shortened by the task."""
    output: str
    """The gold output as text; `task.restore(target)` gives it back."""
    sentence: str
    """The input as text."""
    category: str | None = None
    """Third column of the file, if it has one."""
    line: int = 0
    """Line number in the file, from 1; 0 for examples that come from no file."""
