"""Names of variables bound inside an output, in the order of their first appearance: $0, $1 or A, B."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

NUMBERED = re.compile(r"(.*?\D)(\d+)")
LETTERED = re.compile(r"([^\w\s]*)([A-Za-z])")
LETTERS = (string.ascii_uppercase, string.ascii_lowercase)
SHOWN = 5
"""Outputs that must have a variable; with letters also a second one, since a single letter may be anything."""
WRONG, REPEATED = 0.05, 0.5
"""Share of the outputs that may have them in another order, and that must mention one twice."""


@final
@dataclass(frozen=True)
class Series:
    """A stem and a number from 0 on; or, if there is a first letter, a stem and a letter. No series has neither."""

    stem: str = ""
    first: str = ""

    def number(self, token: str) -> int | None:
        """Which variable this is; None if it is none."""
        if not (self.stem or self.first) or not token.startswith(self.stem):
            return None
        name = token[len(self.stem) :]
        if self.first:
            number = self._letters.find(name) if len(name) == 1 else -1
            return None if number < 0 else number
        return int(name) if name.isascii() and name.isdigit() and str(int(name)) == name else None

    def variable(self, number: int) -> str:
        """The name of a variable. Letters end, numbers go on: what is named behind the last letter is no variable."""
        if not self.first:
            return f"{self.stem}{number}"
        letters = self._letters
        rounds, letter = divmod(number, len(letters))
        return f"{self.stem}{letters[letter]}{rounds or ''}"

    @property
    def _letters(self) -> str:
        alphabet = next(letters for letters in LETTERS if self.first in letters)
        return alphabet[alphabet.index(self.first) :]


def find_series(outputs: Sequence[Sequence[str]]) -> Series:
    """The series whose members these outputs mention in order; one of no variables if there is none."""
    found: Counter[Series] = Counter()
    wrong: Counter[Series] = Counter()
    repeated: Counter[Series] = Counter()
    second: Counter[Series] = Counter()
    lettered = _first_letters(outputs)
    for output in outputs:
        mentions: dict[Series, list[int]] = defaultdict(list)
        for series, number in _mentions(output, lettered):
            mentions[series].append(number)
        for series, numbers in mentions.items():
            order = list(dict.fromkeys(numbers))
            found[series] += 1
            second[series] += len(order) > 1
            repeated[series] += len(numbers) > len(order)
            # Numbers count from 0 or from 1.
            wrong[series] += order not in (
                list(range(len(order))),
                *([] if series.first else [list(range(1, len(order) + 1))]),
            )
    good = [
        series
        for series, number in found.items()
        if number >= SHOWN
        and wrong[series] <= WRONG * number
        and repeated[series] >= REPEATED * number
        and (not series.first or second[series] >= SHOWN)
    ]
    return max(good, key=lambda series: found[series], default=Series())


def _mentions(output: Sequence[str], lettered: dict[tuple[str, str], Series]) -> Iterator[tuple[Series, int]]:
    for token in output:
        match = NUMBERED.fullmatch(token)
        if match and match[2] == str(int(match[2])):
            yield Series(match[1]), int(match[2])
        match = LETTERED.fullmatch(token)
        if match:
            series = lettered[match[1], _alphabet(match[2])]
            number = series.number(token)
            yield series, -1 if number is None else number


def _first_letters(outputs: Sequence[Sequence[str]]) -> dict[tuple[str, str], Series]:
    """For each stem and alphabet the series that begins with the letter that outputs mostly mention first."""
    firsts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for output in outputs:
        seen = set()
        for token in output:
            match = LETTERED.fullmatch(token)
            if match and (key := (match[1], _alphabet(match[2]))) not in seen:
                seen.add(key)
                firsts[key][match[2]] += 1
    return {key: Series(key[0], counts.most_common(1)[0][0]) for key, counts in firsts.items()}


def _alphabet(letter: str) -> str:
    return LETTERS[0] if letter.isupper() else LETTERS[1]
