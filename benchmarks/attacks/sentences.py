"""Random sentences: rubbish, known words, very long ones. Each is parsed or refused in words."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from attacks.small import SMALL
from attacks.verdict import FAULT, Section
from permparse import UserError, load_recipe, train

ALPHABET = "abc XY\t\n\r .,;:'\"\\/()[]{}<>$%&#0123456789äßñ漢字🙂👩‍🚀\u200b\u202e\ufeff\u0000\u0007\u001b\u00a0\ud800"
SECONDS = 20.0
"""A sentence that takes longer counts as a hang."""


def attack_sentences(count: int, scratch: Path) -> Section:
    """One sentence after the other, through the front door."""
    chance, section = random.Random(0), Section()
    parser = train(load_recipe("doubling", SMALL), scratch / "run", quiet=True)
    for _ in range(count):
        text, started, detail = _text(chance), time.monotonic(), ""
        try:
            json.loads(parser.parse(text).to_json(), parse_constant=_refuse)
            verdict = "parsed"
        except UserError:
            verdict = "refused in words"
        except Exception as error:
            verdict, detail = f"{FAULT}raw {type(error).__name__}", str(error)
        slow = time.monotonic() - started > SECONDS
        section.add(repr(text[:80]), f"{FAULT}hang" if slow else verdict, detail)
    return section


def _text(chance: random.Random) -> str:
    """Mostly short rubbish, sometimes words that are known, sometimes very long."""
    kind = chance.random()
    if kind < 0.2:
        return " ".join(chance.choices("abcdefghijk", k=chance.randint(1, 30)))
    if kind < 0.205:
        return " ".join(chance.choices("abcdefghijkz", k=300))
    return "".join(chance.choices(ALPHABET, k=chance.randint(0, 60)))


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} in the JSON of a parse")
