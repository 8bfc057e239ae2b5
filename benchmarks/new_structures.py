"""A made-up language of roles, in which familiar parts meet in structures that training lacks, as three raw files.

    python benchmarks/new_structures.py data/structures
    permparse train data/structures/train.tsv --option dev=data/structures/dev.tsv --seed 100 --output runs/structures
    permparse evaluate runs/structures --file data/structures/test.tsv

In training only what somebody does something to may have a phrase (up to two, one inside the other) or a relative
clause. The test file has them at the one who does it and at the one who gets it, deeper ones, and other questions.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from pathlib import Path

NAMES = ["Anna", "Boris", "Clara", "Dario", "Edith", "Felix", "Greta", "Henri", "Ilse", "Jonas", "Kim", "Lola"]
PEOPLE = ["sailor", "baker", "judge", "singer", "tailor", "monk", "guard", "painter", "poet", "miner"]
THINGS = ["lamp", "coin", "kettle", "violin", "carpet", "letter", "ladder", "basket", "mirror", "candle", "drum"]
PLACES = ["barn", "attic", "bridge", "harbour", "cellar", "market", "tower", "porch"]
DOING = {"found": "find", "broke": "break", "stole": "steal", "drew": "draw", "sold": "sell", "hid": "hide"}
GIVING = {"gave": "give", "sent": "send", "lent": "lend", "brought": "bring"}
RESTING = {"slept": "sleep", "sang": "sing", "wept": "weep", "ran": "run"}
SAYING = {"claimed": "claim", "knew": "know", "feared": "fear", "dreamt": "dream"}
WHERE = ["in", "near", "behind"]

Phrase = tuple[str, str]
Noun = Callable[[list[str]], Phrase]


class Speaker:
    """Makes up phrases, each with its form."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def noun(self, nouns: list[str]) -> Phrase:
        """A noun with an article, or the name of a person."""
        if nouns is PEOPLE and self.chance.random() < 0.4:
            name = self.chance.choice(NAMES)
            return name, name
        noun = self.chance.choice(nouns)
        return self.chance.choice([(f"the {noun}", f"the {noun}"), (f"a {noun}", noun)])

    def common(self, nouns: list[str]) -> Phrase:
        """A noun with an article."""
        return self.noun(list(nouns))

    def placed(self, depth: int) -> Noun:
        """Nouns with a phrase of place, in which there is another one, and so on."""

        def made(nouns: list[str]) -> Phrase:
            (said, form), where = self.common(nouns), self.chance.choice(WHERE)
            place, below = self.placed(depth - 1)(PLACES) if depth > 1 else self.common(PLACES)
            return f"{said} {where} {place}", f"{form}{{{where}: {below}}}"

        return made

    def described(self, nouns: list[str]) -> Phrase:
        """A noun with a relative clause about what it did, or what was done to it."""
        (said, form), (did, do) = self.common(nouns), self.verb(DOING)
        if self.chance.random() < 0.5:
            thing, what = self.noun(THINGS)
            return f"{said} that {did} {thing}", f"{form}{{that: {do}{{who: it, what: {what}}}}}"
        person, who = self.noun(PEOPLE)
        return f"{said} that {person} {did}", f"{form}{{that: {do}{{who: {who}, what: it}}}}"

    def verb(self, verbs: dict[str, str]) -> Phrase:
        """A verb and its symbol."""
        return self.chance.choice(sorted(verbs.items()))

    def clause(self, who: Noun | None = None, what: Noun | None = None, whom: Noun | None = None) -> Phrase:
        """Somebody does something, to something, for somebody; each argument made as told."""
        person, doer = (who or self.noun)(PEOPLE)
        kinds = (
            ["give", "give to"] if whom else ["do", "give", "give to"] if what else ["do", "give", "give to", "rest"]
        )
        kind = self.chance.choice(kinds)
        if kind == "rest":
            did, do = self.verb(RESTING)
            return f"{person} {did}", f"{do}{{who: {doer}}}"
        thing, done = (what or self.noun)(THINGS)
        if kind == "do":
            did, do = self.verb(DOING)
            return f"{person} {did} {thing}", f"{do}{{who: {doer}, what: {done}}}"
        did, do = self.verb(GIVING)
        other, getter = (whom or self.noun)(PEOPLE)
        if kind == "give":
            return f"{person} {did} {other} {thing}", f"{do}{{who: {doer}, whom: {getter}, what: {done}}}"
        return f"{person} {did} {thing} to {other}", f"{do}{{who: {doer}, what: {done}, whom: {getter}}}"

    def report(self, depth: int) -> Phrase:
        """What somebody says that somebody says, and so on."""
        if depth == 0:
            return self.clause()
        (person, who), (did, do), (said, form) = self.noun(PEOPLE), self.verb(SAYING), self.report(depth - 1)
        return f"{person} {did} that {said}", f"{do}{{who: {who}, that: {form}}}"

    def question(self, about: str, who: Noun | None = None) -> Phrase:
        """A question about who, what or whom."""
        if about == "who":
            (did, do), (thing, what) = self.verb(DOING), self.noun(THINGS)
            return f"who {did} {thing}", f"{do}{{who: ?, what: {what}}}"
        person, doer = (who or self.noun)(PEOPLE)
        if about == "what":
            _, do = self.verb(DOING)
            return f"what did {person} {do}", f"{do}{{who: {doer}, what: ?}}"
        (_, do), (thing, what) = self.verb(GIVING), self.noun(THINGS)
        return f"to whom did {person} {do} {thing}", f"{do}{{who: {doer}, what: {what}, whom: ?}}"

    def known(self) -> Phrase:
        """A sentence as training has them."""
        kinds: list[Callable[[], Phrase]] = [
            self.clause,
            self.clause,
            lambda: self.clause(what=self.placed(self.chance.randint(1, 2))),
            lambda: self.clause(what=self.described),
            lambda: self.report(self.chance.randint(1, 2)),
            lambda: self.question(self.chance.choice(["who", "what"])),
        ]
        return self.chance.choice(kinds)()

    def new(self) -> dict[str, Callable[[], Phrase]]:
        """Sentences that training lacks, by what is new in them."""
        return {
            "deeper places": lambda: self.clause(what=self.placed(self.chance.randint(3, 6))),
            "deeper reports": lambda: self.report(self.chance.randint(3, 6)),
            "place of the doer": lambda: self.clause(who=self.placed(1)),
            "clause of the doer": lambda: self.clause(who=self.described),
            "place of the getter": lambda: self.clause(whom=self.placed(1)),
            "clause of the getter": lambda: self.clause(whom=self.described),
            "question with a place": lambda: self.question("what", self.placed(1)),
            "question with a clause": lambda: self.question("what", self.described),
            "question to whom": lambda: self.question("whom"),
        }


def main() -> None:
    """Write train.tsv, dev.tsv and test.tsv."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--examples", type=int, default=8000, help="training examples")
    arguments.add_argument("--seed", type=int, default=0, help="of the sentences")
    chosen = arguments.parse_args()
    speaker = Speaker(chosen.seed)
    found: dict[str, str] = {}
    while len(found) < chosen.examples + 400:
        found.update([speaker.known()])
    lines = [f"{said} .\t{form}\n" for said, form in found.items()]
    test = [(*make(), group) for group, make in speaker.new().items() for _ in range(100)]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("train", lines[: chosen.examples]),
        ("dev", lines[chosen.examples :]),
        ("test", [f"{said} .\t{form}\t{group}\n" for said, form, group in test]),
    ):
        (chosen.folder / f"{name}.tsv").write_text("".join(content), encoding="utf-8")


if __name__ == "__main__":
    main()
