"""Find the brackets of an output language from counts and balance: which token opens a level, which closes it.

A token that both opens and closes a level, such as a quotation mark, is a toggle.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

BALANCED = 0.98
"""Share of outputs that must balance: training files have typing errors."""


@final
@dataclass(frozen=True)
class Brackets:
    """Opening tokens with the closing token of each; a toggle is its own partner."""

    closing: dict[str, str] = field(default_factory=dict)

    @property
    def toggles(self) -> frozenset[str]:
        return frozenset(opening for opening, closing in self.closing.items() if opening == closing)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset((*self.closing, *self.closing.values()))


def find_brackets(outputs: Sequence[Sequence[str]], minimum: int = 5) -> Brackets:
    """Pairs with equal counts that balance in nearly all outputs and enclose spans of varying length."""
    seen: dict[str, int] = Counter(token for output in outputs for token in set(output))
    frequent = {token for token, count in seen.items() if count >= minimum}
    counts = [Counter(token for token in output if token in frequent) for output in outputs]
    pairs: list[tuple[float, str, str]] = []
    for opening, closing in _equal_counts(counts, frequent):
        score = _nesting(outputs, opening, closing)
        if score is not None:
            pairs.append((score, opening, closing))
    found: dict[str, str] = {}
    used: set[str] = set()
    for _, opening, closing in sorted(pairs, reverse=True):
        if not used & {opening, closing}:
            found[opening] = closing
            used |= {opening, closing}
    signs = (token for token in sorted(frequent - used) if not any(c.isalnum() for c in token))
    found |= {token: token for token in signs if _is_toggle(counts, token)}
    return Brackets(found)


def _equal_counts(counts: Sequence[Counter[str]], frequent: set[str]) -> list[tuple[str, str]]:
    """Ordered pairs of signs, or of tags such as <b>, whose counts agree in nearly all outputs that have either."""
    symbols = sorted(token for token in frequent if not any(c.isalnum() for c in token))
    tags = sorted(t for t in frequent if not t[0].isalnum() and t not in symbols and not t[-1].isdigit())
    pairs = []
    for group in (symbols, tags[:200]):
        for one in group:
            for other in group:
                if one < other and _agree(counts, one, other):
                    pairs += [(one, other), (other, one)]
    return pairs


def _agree(counts: Sequence[Counter[str]], one: str, other: str) -> bool:
    either = same = 0
    for count in counts:
        if one in count or other in count:
            either += 1
            same += count[one] == count[other]
            if either - same > 20 and same < BALANCED * either:
                return False
    return same >= BALANCED * either


def _nesting(outputs: Sequence[Sequence[str]], opening: str, closing: str) -> float | None:
    """How well the pair behaves like brackets: the mean span; None if it does not balance or spans are constant."""
    spans: Counter[int] = Counter()
    relevant = balanced = 0
    for output in outputs:
        if opening not in output:
            continue
        relevant += 1
        stack: list[int] = []
        fine = True
        for position, token in enumerate(output):
            if token == opening:
                stack.append(position)
            elif token == closing:
                if not stack:
                    fine = False
                    break
                spans[position - stack.pop()] += 1
        balanced += fine and not stack
    if not relevant or balanced < BALANCED * relevant or len(spans) < 2:
        return None
    return sum(span * count for span, count in spans.items()) / sum(spans.values())


def _is_toggle(counts: Sequence[Counter[str]], token: str) -> bool:
    """An even number in nearly every output that has any."""
    numbers = [count[token] for count in counts if token in count]
    return sum(number % 2 == 0 for number in numbers) >= BALANCED * len(numbers)
