"""What may go wrong by the user's hand, as one exception type.

The command line prints its message as one line and exits with code 2; nothing else is ever the user's fault.
"""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

KEPT = "\t\n"
"""Control characters that a message may hold."""
UNSAFE = ("Cc", "Cs", "Cf", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that a terminal may obey instead of showing, or that hide what a text says."""


class UserError(Exception):
    """A mistake the user can mend: says what was expected, what came, where, and the remedy.

    Names and values from outside may be part of the message: what a terminal would obey is escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """The text with control characters as they are written in code: an escape sequence is shown, not obeyed."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) if _is_unsafe(character) else character for character in text)


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of an error message about a mistyped name: the nearest valid one, or all of them."""
    options = sorted(valid)
    close = get_close_matches(name[:100], options, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"valid: {', '.join(options)}"


def _is_unsafe(character: str) -> bool:
    return character not in KEPT and unicodedata.category(character) in UNSAFE


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
