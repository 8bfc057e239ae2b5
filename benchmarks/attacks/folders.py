"""Hostile model folders: saved parsers with something changed. Each is refused in words, or serves sane parses."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from attacks.damage import Variant, variants
from attacks.verdict import FAULT, Section, isolated
from permparse import Parser, UserError, load_recipe, train

SECONDS = 10.0
"""A folder that takes longer to be refused, or to parse two sentences, counts as a hang."""
QUICK = [
    "adapt=false",
    "data.notation=bold",
    "data.lexicon=copy",
    "tagger.encoder.hidden_size=16",
    "tagger.encoder.embedding_size=16",
    "tagger.ff_size=16",
    "tagger.max_count=1",
    "tagger.training.epochs=10",
    "tagger.training.batch=8",
    "tagger.training.lr=1e-2",
    "scorer.encoder.hidden_size=16",
    "scorer.encoder.embedding_size=16",
    "scorer.ff_size=16",
    "scorer.training.epochs=1",
]


def attack_folders(count: int, scratch: Path) -> Section:
    """At least ``count`` folders, the last of them with random bytes changed."""
    section = Section()
    good = saved_parser(scratch)
    sentences = ["please play songs by adele", "songs"]
    expected = _served(Parser.load(good), sentences)
    for number, variant in enumerate(variants(good, random.Random(0), count)):
        folder = scratch / f"hostile-{number}"
        shutil.copytree(good, folder)
        variant.damage(folder)
        verdict, detail = isolated(_attack(folder, variant, sentences, expected), SECONDS)
        section.add(variant.name, verdict, detail)
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:
            folder.unlink()
    return section


def saved_parser(scratch: Path) -> Path:
    """A small parser with a learned notation and a lexicon, saved in a folder."""
    chance = random.Random(0)
    lines = []
    for _ in range(60):
        verb, name = chance.choice(["play", "stop", "find"]), chance.choice(["adele", "sting", "cher", "prince"])
        kind, symbol = chance.choice([("by", "author"), ("about", "topic"), ("like", "similar"), ("with", "member")])
        lines.append(f'please {verb} songs {kind} {name}\tdo_{verb}({symbol}(song, "{name}"))\n')
    data = scratch / "songs.tsv"
    data.write_text("".join(lines))
    train(load_recipe("tsv", [f"data.options.train={str(data)!r}", *QUICK]), scratch / "run", quiet=True)
    return scratch / "run" / "parser"


def _attack(folder: Path, variant: Variant, sentences: list[str], expected: list[str]) -> Callable[[], tuple[str, str]]:
    def attack() -> tuple[str, str]:
        try:
            parser = Parser.load(folder)
            served = _served(parser, sentences)
        except UserError as error:
            if not all(character.isprintable() for character in str(error)):
                return f"{FAULT}control characters in a message", repr(str(error))
            return "refused in words", str(error)
        except _NotFinite as error:
            return f"{FAULT}NaN served", str(error)
        if variant.must_be_refused:
            return f"{FAULT}served", variant.name
        return ("served, as before" if served == expected else "served, another parser"), ""

    return attack


class _NotFinite(Exception):
    """A parse with a number that is none."""


def _served(parser: Parser, sentences: list[str]) -> list[str]:
    """What a parser answers, all of it, as JSON."""
    parses = parser.parse(sentences, n_best=2)
    for parse in parses:
        numbers = [parse.log_prob, parse.confidence, parse.score, parse.order_log_prob, parse.surprise]
        numbers += [value for other in parse.alternatives for value in (other.log_score, other.confidence)]
        if not all(map(math.isfinite, numbers)):
            raise _NotFinite(str(numbers))
        if not all(c.isprintable() or c.isspace() for c in parse.output):
            raise ValueError(f"control characters in the output {parse.output!r}")
    return [json.dumps(json.loads(parse.to_json()), sort_keys=True) for parse in parses]
