"""Values that outputs spell differently from inputs: `salt_lake_city:c` is *salt lake city* with a sign between words
and a tag after them. If the value is split there, its words can be copied, even if they are unseen in training."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, final

PARTS = re.compile(r"[^\W_]+|[\W_]")
"""Words and single signs inside a token."""
MOST_PARTS = 15
TYPES = 5
"""Different values that a frame must hold in training."""
SPELLED, VALUES = 0.9, 0.5
"""Share of the inputs that must say a value in its words, and share of the types of a frame that must be values."""


class Frame(NamedTuple):
    """What stands in front of the words of a value, and behind them: nothing and ":c" of `salt_lake_city:c`."""

    prefix: str
    suffix: str


class Reading(NamedTuple):
    """One way to take a token apart: words with the same sign between each two of them, in a frame."""

    frame: Frame
    words: tuple[str, ...]
    sign: str

    @property
    def parts(self) -> list[str]:
        inside = [part for word in self.words for part in (self.sign, word)][1:]
        return [part for part in (self.frame.prefix, *inside, self.frame.suffix) if part]


@final
@dataclass(frozen=True)
class Spellings:
    """The frames of values, each with the sign between words, and the tokens that look like a value and are none."""

    frames: Mapping[Frame, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    def cut(self, token: str) -> list[str]:
        """The parts of a value; the token itself if it is none."""
        if not self.frames or token in self.whole:
            return [token]
        found = [r for r in readings(token) if r.frame in self.frames and r.sign in ("", self.frames[r.frame])]
        return max(found, key=lambda reading: len(reading.words)).parts if found else [token]

    @cached_property
    def between(self) -> frozenset[str]:
        """The parts that are no words of a value."""
        return frozenset({part for frame in self.frames for part in frame} | {*self.frames.values()}) - {""}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for a checkpoint."""
        return {"frames": [[*frame, sign] for frame, sign in self.frames.items()], "whole": sorted(self.whole)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Spellings":
        """The inverse of `to_json`."""
        frames = {Frame(prefix, suffix): sign for prefix, suffix, sign in data["frames"]}
        return cls(frames, frozenset(data["whole"]))


@lru_cache(maxsize=100_000)
def readings(token: str) -> tuple[Reading, ...]:
    """All ways to take a token apart into more than itself."""
    parts = PARTS.findall(token)
    if not 1 < len(parts) <= MOST_PARTS:
        return ()
    words = [i for i, part in enumerate(parts) if part[0].isalnum()]
    found = []
    for at, first in enumerate(words):
        sign = ""
        for before, last in zip((first, *words[at:]), words[at:], strict=False):
            if last > first:
                between = "".join(parts[before + 1 : last])
                if len(between) != 1 or sign not in ("", between):
                    break
                sign = between
            frame = Frame("".join(parts[:first]), "".join(parts[last + 1 :]))
            inside = tuple(parts[i] for i in words if first <= i <= last)
            if frame != ("", "") or sign:
                found.append(Reading(frame, inside, sign))
    return tuple(found)


def find_spellings(pairs: Iterable[tuple[Sequence[str], Iterable[str]]]) -> Spellings:
    """How the outputs of training pairs spell what their inputs say. O(tokens of the outputs)."""
    seen: Counter[str] = Counter()
    said: dict[str, Counter[Reading]] = defaultdict(Counter)
    for source, output in pairs:
        text = f" {' '.join(source).lower()} "
        for token in dict.fromkeys(token for token in output if readings(token)):
            seen[token] += 1
            said[token].update(r for r in readings(token) if f" {' '.join(r.words).lower()} " in text)
    good = {token: [r for r in readings(token) if said[token][r] >= SPELLED * seen[token]] for token in seen}
    types = Counter(frame for token in seen for frame in {reading.frame for reading in readings(token)})
    values = Counter(frame for found in good.values() for frame in {reading.frame for reading in found})
    signs = Counter((r.frame, r.sign) for found in good.values() for r in found if r.sign)
    frames = {
        frame: max(["", *(sign for of, sign in signs if of == frame)], key=lambda sign: signs[frame, sign])
        for frame, number in sorted(values.items())
        if number >= max(TYPES, VALUES * types[frame])
    }
    found = Spellings(frames)
    cut = {token: found.cut(token) for token in seen}
    whole = {t for t in seen if len(cut[t]) > 1 and cut[t] not in [reading.parts for reading in good[t]]}
    return Spellings(frames, frozenset(whole))
