"""Outputs that are statements about input positions, such as `* boy ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )`.

If training outputs always have them in one order, that order carries no information: statements are grouped by the
position they are about, in sentence order, and sorted back. A phrase then looks the same wherever it occurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from permparse.text.notation.brackets import Brackets

AS_IT_IS = "¶"
"""In front of an output whose statements would not come back in their order."""
REGULAR = 0.95
"""Share of the outputs with several statements that must come back."""
FREQUENT = 0.01
"""Share of the outputs that must have a separator, or a first token of leading statements."""

Statement: TypeAlias = tuple[str, ...]


@final
@dataclass(frozen=True)
class Statements:
    """Statements end at their separators. Those that begin with a token of ``leading`` come first, followed by its
    separator; all others come after, with ``separator`` between them, as between all when they are gathered."""

    brackets: Brackets
    separator: str
    leading: dict[str, str]

    def gathered(self, tokens: Sequence[str]) -> list[str]:
        """The statements in the order of the positions they are about; as they are, and marked, if `scattered` would
        not bring them back."""
        found = self._statements(tokens)
        if found is None:
            return [AS_IT_IS, *tokens] if tokens and tokens[0] == AS_IT_IS else list(tokens)
        gathered = _joined([(statement, self.separator) for statement in sorted(found, key=_position)])
        return gathered if self.scattered(gathered) == list(tokens) else [AS_IT_IS, *tokens]

    def scattered(self, tokens: Sequence[str]) -> list[str]:
        """The statements in the order that outputs have; of any tokens, whatever comes of it."""
        if tokens and tokens[0] == AS_IT_IS:
            return list(tokens[1:])
        found = self._statements(tokens)
        if found is None:
            return list(tokens)
        ordered = sorted(found, key=self._rank)
        return _joined([(statement, self.leading.get(statement[0], self.separator)) for statement in ordered])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, which a person can read."""
        return {"brackets": self.brackets.closing, "separator": self.separator, "leading": self.leading}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Statements:
        """The inverse of `to_json`."""
        return cls(Brackets(dict(data["brackets"])), data["separator"], dict(data["leading"]))

    def _rank(self, statement: Statement) -> tuple[bool, int]:
        return statement[0] not in self.leading, _position(statement)

    def _statements(self, tokens: Sequence[str]) -> list[Statement] | None:
        """The statements; None if they are not all about a position."""
        separators = {self.separator, *self.leading.values()}
        found = list(parts(tokens, separators, self.brackets))
        return found if all(_numbers(statement) for statement in found) else None


def find_statements(outputs: Sequence[Sequence[str]], brackets: Brackets) -> Statements | None:
    """The statements of these outputs; None if they have none, or in no fixed order."""
    enough = max(1.0, FREQUENT * len(outputs))
    separators = _separators(outputs, brackets, enough)
    if not separators:
        return None
    after: dict[str, Counter[str]] = {}
    several: list[Sequence[str]] = []
    for output in outputs:
        found = list(parts(output, separators, brackets))
        if len(found) > 1 and all(map(_numbers, found)):
            several.append(output)
            ends = [token for token, depth in _depths(output, brackets) if depth == 0 and token in separators]
            for statement, separator in zip(found, ends, strict=False):
                after.setdefault(statement[0], Counter())[separator] += 1
    usual = sum(after.values(), Counter[str]()).most_common(1)
    if not usual:
        return None
    separator = usual[0][0]
    leading = {
        first: next(iter(ends))
        for first, ends in sorted(after.items())
        if len(ends) == 1 and ends.total() >= enough and separator not in ends
    }
    statements = Statements(brackets, separator, leading)
    regular = sum(statements.gathered(output)[0] != AS_IT_IS for output in several)
    return statements if regular >= REGULAR * len(several) else None


def parts(tokens: Sequence[str], separators: set[str], brackets: Brackets) -> Iterator[Statement]:
    """What stands between separators outside of brackets; empty parts as well."""
    part: list[str] = []
    for token, depth in _depths(tokens, brackets):
        if depth == 0 and token in separators:
            yield tuple(part)
            part = []
        else:
            part.append(token)
    yield tuple(part)


def _separators(outputs: Sequence[Sequence[str]], brackets: Brackets, enough: float) -> set[str]:
    """Tokens outside of brackets that only ever follow a closing one, and are never last."""
    closing = frozenset(brackets.closing.values())
    seen, other = Counter[str](), set[str]()
    for output in outputs:
        before = ""
        for token, depth in _depths(output, brackets):
            if depth == 0 and before in closing and token not in brackets.tokens:
                seen[token] += 1
            else:
                other.add(token)
            before = token
        other.add(before)
    return {token for token, number in seen.items() if token not in other and number >= enough}


def _depths(tokens: Sequence[str], brackets: Brackets) -> Iterator[tuple[str, int]]:
    """Each token with the number of brackets around it."""
    depth = 0
    closing = frozenset(brackets.closing.values()) - brackets.toggles
    for token in tokens:
        if token in closing:
            depth -= 1
        yield token, depth
        if token in brackets.closing and token not in brackets.toggles:
            depth += 1


def _joined(statements: Sequence[tuple[Statement, str]]) -> list[str]:
    """The statements, each with its separator behind it but the last."""
    return [token for statement, separator in statements for token in (*statement, separator)][:-1]


def _numbers(statement: Statement) -> list[int]:
    return [int(token) for token in statement if token.isascii() and token.isdigit()]


def _position(statement: Statement) -> int:
    """What a statement is about: the first position it names."""
    return _numbers(statement)[0]
