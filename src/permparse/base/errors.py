"""What may go wrong by the user's hand, as one exception type.

The command line prints its message as one line and exits with code 2; nothing else is ever the user's fault.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake the user can mend: says what was expected, what came, where, and the remedy."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of an error message about a mistyped name: the nearest valid one, or all of them."""
    options = sorted(valid)
    close = get_close_matches(name, options, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"valid: {', '.join(options)}"
