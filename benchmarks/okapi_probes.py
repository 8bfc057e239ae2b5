"""Requests of one clause more than training has, made of dev and training requests: what the paper's configuration of
Okapi calendar was worked out on, in place of the test set.

    python benchmarks/okapi_probes.py DATA calendar probes.tsv
    permparse train okapi-calendar-paper --data DATA --seed 0 --set scorer.training.epochs=0 --output runs/calendar
    permparse evaluate runs/calendar --file probes.tsv

A dev request of three clauses, *List the events about chess in May*, goes on with what a request of two clauses says of
its events: *and organized by Ana*. No attribute occurs twice.
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

from permparse.tasks.okapi import clauses

LONG, SHORT = 3, 2
"""Clauses of a request that goes on, and of one whose end it goes on with; GET is one of them."""
HEAD = re.compile(r"\b(?:event|meeting|appointment|file|document|email|message|mail)s\b\s+(\S+\s.*)", re.IGNORECASE)
RELATIVE = re.compile(r"^(?:which|that|who)\s+(?:(?:are|is|were|was|have|has)\b)?\s*|^(?:are|is|were)\s+")
STOP = re.compile(r"\s*[.?!]*\s*$")
ATTEMPTS = 50
"""Pairs tried for each probe that is asked for."""

Request = tuple[str, str]


def read(path: Path) -> list[Request]:
    """Sentence and output of every line."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [(row[0], row[1]) for row in rows]


def about(clause: str) -> str:
    """What a clause speaks of: the attribute of a filter, else its keyword."""
    words = clause.split()
    return words[1] if words[0] == "FILTER" else words[0]


def ends(requests: list[Request]) -> list[Request]:
    """What the shorter requests say after *events*, and its clause."""
    found = []
    for sentence, output in requests:
        of, match = clauses(output), HEAD.search(sentence)
        if match and len(of) == SHORT and of[1].split()[0] in ("FILTER", "SEARCH"):
            said = STOP.sub("", match.group(1))
            found.append((RELATIVE.sub("", said) or said, of[1]))
    return found


def probes(folder: Path, number: int, seed: int) -> list[Request]:
    """So many different requests that go on, in alphabetical order; fewer if there are no more."""
    dev, chance = read(folder / "dev.tsv"), random.Random(seed)
    begun = [(STOP.sub("", x), y) for x, y in dev if len(clauses(y)) == LONG]
    ended = ends([*dev, *read(folder / "train.tsv")])
    found: set[Request] = set()
    for _ in range(ATTEMPTS * number):
        (sentence, output), (said, clause) = chance.choice(begun), chance.choice(ended)
        if about(clause) not in map(about, clauses(output)):
            found.add((f"{sentence} and {said}.", f"{output} {clause}"))
        if len(found) == number:
            break
    return sorted(found)


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, help="folder of the data, with okapi/DOMAIN/train.tsv")
    arguments.add_argument("domain", choices=["calendar", "document", "email"])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--number", type=int, default=400, help="of requests")
    arguments.add_argument("--seed", type=int, default=0, help="of the requests")
    chosen = arguments.parse_args()
    found = probes(chosen.data / "okapi" / chosen.domain, chosen.number, chosen.seed)
    chosen.file.write_text("".join(f"{x}\t{y}\n" for x, y in found), encoding="utf-8")


if __name__ == "__main__":
    main()
