"""Sentences of our own making in the notation of COGS, on which parsers of COGS as a raw file were worked out, in place
of the generalisation set.

    python benchmarks/cogs_probes.py probes.tsv
    permparse train COGS/train.tsv --option dev=COGS/dev.tsv --seed 0 --output runs/cogs
    permparse evaluate runs/cogs --file probes.tsv

Training has phrases on objects alone: *ate a cake on the table*, never *a cake on the table rolled*; and no name stands
between a verb and *to*, as in *gave Zorba to Emma*.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

NOUNS = ["boy", "girl", "cat", "dog", "captain", "hedgehog", "cake", "rose", "teacher", "bear", "penguin"]
PLACES = ["table", "bed", "house", "tray", "box", "room", "stage", "chair"]
WHERE = ["in", "on", "beside"]
DOING = {"ate": "eat", "painted": "paint", "drew": "draw", "cleaned": "clean", "saw": "see", "found": "find"}
GIVING = {"gave": "give", "sold": "sell", "lended": "lend", "sent": "send"}
NAMES = ["Zorba", "Lina", "Paula", "Quentin"]
WANTING = {"wanted": "want", "planned": "plan", "hoped": "hope", "attempted": "attempt"}
RESTING = {"slept": "sleep", "smiled": "smile", "ran": "run", "screamed": "scream"}


class Sentence:
    """Words, and what the form says of them: definite nouns in front, then all else in the order of the sentence."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.words: list[str] = []
        self.definite: list[str] = []
        self.said: list[tuple[int, str]] = []

    def noun(self, nouns: list[str]) -> tuple[str, int]:
        """Say a noun with its article; the noun and its position."""
        noun, definite = self.chance.choice(nouns), self.chance.random() < 0.5
        self.words += ["the" if definite else "a", noun]
        position = len(self.words) - 1
        if definite:
            self.definite.append(f"* {noun} ( x _ {position} )")
        else:
            self.said.append((position, f"{noun} ( x _ {position} )"))
        return noun, position

    def verb(self, verbs: dict[str, str], subject: int) -> tuple[str, int]:
        """Say a verb; its predicate and its position."""
        word, predicate = self.chance.choice(sorted(verbs.items()))
        self.words.append(word)
        position = len(self.words) - 1
        self.said.append((position, f"{predicate} . agent ( x _ {position} , x _ {subject} )"))
        return predicate, position

    def phrase_on_the_subject(self) -> str:
        """The boy on a chair slept."""
        (noun, subject), where = self.noun(NOUNS), self.chance.choice(WHERE)
        self.words.append(where)
        _, place = self.noun(PLACES)
        self.said.append((subject, f"{noun} . nmod . {where} ( x _ {subject} , x _ {place} )"))
        if self.chance.random() < 0.5:
            self.verb(RESTING, subject)
        else:
            predicate, verb = self.verb(DOING, subject)
            _, thing = self.noun(NOUNS)
            self.said.append((verb, f"{predicate} . theme ( x _ {verb} , x _ {thing} )"))
        return self._line("phrase on the subject")

    def phrase_on_who_wants(self) -> str:
        """The boy on a chair wanted to sleep: he is said to want and to sleep."""
        (noun, subject), where = self.noun(NOUNS), self.chance.choice(WHERE)
        self.words.append(where)
        _, place = self.noun(PLACES)
        self.said.append((subject, f"{noun} . nmod . {where} ( x _ {subject} , x _ {place} )"))
        wish, wants = self.verb(WANTING, subject)
        predicate = self.chance.choice(sorted(RESTING.values()))
        self.words += ["to", predicate]
        does = len(self.words) - 1
        self.said.append((wants, f"{wish} . xcomp ( x _ {wants} , x _ {does} )"))
        self.said.append((does, f"{predicate} . agent ( x _ {does} , x _ {subject} )"))
        return self._line("phrase on who wants")

    def name_before_to(self) -> str:
        """The boy gave Zorba to Emma."""
        _, subject = self.noun(NOUNS)
        (predicate, verb), name = self.verb(GIVING, subject), self.chance.choice(NAMES)
        self.words += [name, "to", "Emma"]
        self.said.append((verb, f"{predicate} . theme ( x _ {verb} , {name} )"))
        self.said.append((verb, f"{predicate} . recipient ( x _ {verb} , Emma )"))
        return self._line("name before to")

    def _line(self, category: str) -> str:
        """The sentence, its form, and a category."""
        sentence = " ".join([self.words[0].capitalize(), *self.words[1:], "."])
        said = " AND ".join(text for _, text in sorted(self.said, key=lambda pair: pair[0]))
        return f"{sentence}\t{' ; '.join([*self.definite, said])}\t{category}\n"


def main() -> None:
    """Write the file."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--number", type=int, default=300, help="of sentences of each kind")
    arguments.add_argument("--seed", type=int, default=0, help="of the sentences")
    chosen = arguments.parse_args()
    chance = random.Random(chosen.seed)
    lines = [Sentence(chance).phrase_on_the_subject() for _ in range(chosen.number)]
    lines += [Sentence(chance).name_before_to() for _ in range(chosen.number)]
    lines += [Sentence(chance).phrase_on_who_wants() for _ in range(chosen.number)]
    chosen.file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
