"""Do numbers in outputs name input positions, as in `visitor ( x _ 3 )`? Then each comes from the word there."""

from collections.abc import Sequence

from permparse.text.notation.evidence import Pair

IN_RANGE = 0.99
"""Share of numbers that must be positions of their input."""
COPIED = 0.1
"""Share of numbers that may be words of their input."""
CHANCE = 3.0
"""How many times more often than any other position the one named must resemble a token close by."""
WINDOW = 6
PREFIX = 3


def position_offset(pairs: Sequence[Pair]) -> int | None:
    """The number of the first position (0 or 1) if numbers name positions, else None."""
    numbers = [(source, target, at) for source, target in pairs for at, token in enumerate(target) if token.isdecimal()]
    if not numbers or sum(target[at] in source for source, target, at in numbers) > COPIED * len(numbers):
        return None
    scores = {offset: _resemblance(numbers, offset) for offset in (0, 1)}
    best = max(scores, key=lambda offset: scores[offset])
    return best if scores[best] >= CHANCE else None


def _resemblance(numbers: Sequence[tuple[Sequence[str], Sequence[str], int]], offset: int) -> float:
    """How much more often the named word resembles a token in front of the number than the other words do."""
    named = others = 0.0
    valid = 0
    for source, target, at in numbers:
        position = int(target[at]) - offset
        if not 0 <= position < len(source):
            continue
        valid += 1
        beginnings = {token[:PREFIX].lower() for token in target[max(0, at - WINDOW) : at] if len(token) >= PREFIX}
        alike = [word[:PREFIX].lower() in beginnings for word in source]
        named += alike[position]
        others += (sum(alike) - alike[position]) / max(1, len(source) - 1)
    return named / max(others, 1e-9) if valid >= IN_RANGE * len(numbers) and named >= 0.1 * valid else 0.0
