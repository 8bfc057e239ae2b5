"""A made-up command language with nested calls, commas and quotation marks, as three files of raw text.

    python benchmarks/nested_calls.py data/nested
    permparse train data/nested/train.tsv --option dev=data/nested/dev.tsv --seed 100 --output runs/nested
    permparse evaluate runs/nested --file data/nested/test.tsv

Training has calls nested up to depth 2 with up to three arguments; the test file has depths 3 to 6, up to five
arguments, and artists that training does not have.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

ARTISTS = ["Adele", "Bach", "Cher", "Dido", "Enya", "Falco", "Kate Bush", "Lou Reed", "Joan Baez", "Iggy Pop"]
NEW_ARTISTS = [*ARTISTS, "Miles Davis", "Nina Simone", "Otis", "Prince", "Queen"]
PEOPLE = ["Ann", "Bob", "Carl", "Dora", "Emil", "Fay"]
GOODS = ["milk", "eggs", "bread", "tea", "rice", "salt", "soap", "olive oil"]
ROOMS = ["kitchen", "hall", "cellar", "garden"]
MEDIA = {"songs": "song", "albums": "album", "videos": "video"}
EVENTS = {"it rains": "rain", "the sun sets": "sunset", "the bell rings": "bell"}


def simple_command(chance: random.Random, most: int, artists: list[str]) -> tuple[str, str]:
    """A command without another one inside, and its call."""
    kind = chance.choice(["play", "buy", "light", "count"])
    media = chance.choice(sorted(MEDIA))
    if kind == "play":
        artist = chance.choice(artists)
        return f"play {media} by {artist}", f'play(by({MEDIA[media]}, "{artist}"))'
    if kind == "buy":
        goods = chance.sample(GOODS, chance.randint(1, most))
        listed = " and ".join(part for part in (", ".join(goods[:-1]), goods[-1]) if part)
        return f"buy {listed}", "buy({})".format(", ".join(f'"{thing}"' for thing in goods))
    if kind == "light":
        room = chance.choice(ROOMS)
        return f"light the {room}", f'light(room("{room}"))'
    return f"count the {media}", f"count({MEDIA[media]})"


def command(chance: random.Random, depth: int, most: int, artists: list[str]) -> tuple[str, str]:
    """A command with others inside, nested to exactly `depth`, and its call."""
    if depth == 0:
        return simple_command(chance, most, artists)
    kind = chance.choice(["tell", "when", "repeat", "all"])
    if kind == "all":
        number = chance.randint(2, most)
        deepest = chance.randrange(number)
        depths = [depth - 1 if i == deepest else chance.randint(0, depth - 1) for i in range(number)]
        parts = [command(chance, inside, most, artists) for inside in depths]
        return f"do {'; '.join(p for p, _ in parts)} done", f"all({', '.join(c for _, c in parts)})"
    phrase, call = command(chance, depth - 1, most, artists)
    if kind == "tell":
        person = chance.choice(PEOPLE)
        return f"tell {person} to {phrase}", f'tell("{person}", {call})'
    if kind == "when":
        event = chance.choice(sorted(EVENTS))
        return f"when {event} {phrase}", f"when({EVENTS[event]}(), {call})"
    times = chance.randint(2, 9)
    return f"repeat {times} times {phrase}", f"repeat({times}, {call})"


def commands(seed: int, number: int, depths: list[int], most: int = 3, artists: list[str] = ARTISTS) -> dict[str, str]:
    """Different commands, each with its call."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < number:
        phrase, call = command(chance, chance.choice(depths), most, artists)
        found[f"{phrase}."] = call
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description="Write train.tsv, dev.tsv and test.tsv of the command language.")
    arguments.add_argument("folder", type=Path)
    folder: Path = arguments.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    groups = {f"depth {depth}": commands(10 + depth, 200, [depth], artists=NEW_ARTISTS) for depth in (3, 4, 5, 6)}
    groups["more arguments"] = commands(20, 200, [1, 2], most=5, artists=NEW_ARTISTS)
    files = {
        "train.tsv": [f"{s}\t{o}\n" for s, o in commands(1, 3000, [0, 1, 2]).items()],
        "dev.tsv": [f"{s}\t{o}\n" for s, o in commands(2, 300, [0, 1, 2]).items()],
        "test.tsv": [f"{s}\t{o}\t{group}\n" for group, found in groups.items() for s, o in found.items()],
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(lines), encoding="utf-8")
        print(f"{folder / name}: {len(lines):,} examples")


if __name__ == "__main__":
    main()
