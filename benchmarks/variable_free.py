"""COGS without variables, as raw files: every noun stands in the place of its variable.

    python benchmarks/variable_free.py COGS data/variable_free
    permparse train data/variable_free/train.tsv --option dev=data/variable_free/dev.tsv --seed 100 --output runs/free
    permparse evaluate runs/free --file data/variable_free/gen.tsv
    permparse evaluate runs/free --file data/variable_free/probes.tsv

The parser of such files was worked out on probes.tsv: training sentences in which a verb that training has once, like
*blessed* in the active, takes the place of another one, as in *was helped*.

*A cat on the bed slept* has the form `sleep ( agent = cat ( nmod . on = * bed ) )`, after Qiu et al. (2022). COGS is
the folder with the authors' files.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path

HELPED, GAVE = ("helped", "help"), ("gave", "give")
TO = r"give \( agent = [^=]*?(\([^)]*\))? ?, theme"
PROBES = (
    ("active to passive", HELPED, ("blessed", "bless"), "was helped", ""),
    ("passive to active", HELPED, ("squeezed", "squeeze"), "^(?!.*was helped)", ""),
    ("intransitive to transitive", HELPED, ("shattered", "shatter"), "^(?!.*was helped)", ""),
    ("without to with object", HELPED, ("baked", "bake"), "^(?!.*was helped)", ""),
    ("to before nothing", GAVE, ("shipped", "ship"), "", TO.replace("theme", "recipient")),
    ("nothing before to", GAVE, ("teleported", "teleport"), "", TO),
)
"""What is new, the verb whose place is taken and the one that takes it, and what sentence and form have to match."""
MOST = 150


def without_variables(form: str) -> str:
    """The form as nested calls, arguments in their order; of a word alone, its predicate."""
    if form.startswith("LAMBDA"):
        return form.split(" . ")[form.count("LAMBDA")].split()[0]
    names: dict[str, str] = {}
    arguments: dict[str, list[tuple[str, str]]] = {}
    *definite, said = form.split(" ; ")
    for statement in [*definite, *said.split(" AND ")]:
        predicate, _, places = statement.removesuffix(" )").partition(" ( ")
        first, *second = places.split(" , ")
        name, _, role = predicate.partition(" . ")
        names.setdefault(first, name)
        arguments.setdefault(first, []).extend((role, entity) for entity in second)

    def written(entity: str) -> str:
        parts = [f"{role} = {written(of)}" for role, of in arguments.get(entity, ())]
        return names.get(entity, entity) + (f" ( {' , '.join(parts)} )" if parts else "")

    below = {of for each in arguments.values() for _, of in each}
    (root,) = (entity for entity in arguments if entity not in below)
    return written(root)


def probes(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of sentences and forms with another verb, at most MOST of each kind."""
    chance, lines = random.Random(0), []
    for kind, (word, verb), (new_word, new_verb), said, form_has in PROBES:
        found = [
            (re.sub(rf"\b{word}\b", new_word, sentence), re.sub(rf"\b{verb}\b", new_verb, form))
            for sentence, form in rows
            if f" {word} " in sentence
            and f"{verb} (" in form
            and re.search(said, sentence)
            and re.search(form_has, form)
        ]
        chosen = chance.sample(found, min(MOST, len(found)))
        lines += [f"{sentence}\t{form}\t{kind}\n" for sentence, form in chosen]
    return lines


def main() -> None:
    """Write the four files, and the probes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cogs", type=Path, help="folder of train.tsv, dev.tsv, test.tsv and gen.tsv")
    parser.add_argument("output", type=Path)
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test", "gen"):
        rows = [line.split("\t") for line in (chosen.cogs / f"{split}.tsv").read_text(encoding="utf-8").splitlines()]
        written = [(sentence, without_variables(form), category) for sentence, form, category in rows]
        lines = [f"{sentence}\t{form}\t{category}\n" for sentence, form, category in written]
        (chosen.output / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
        if split == "train":
            known = [(sentence, form) for sentence, form, category in written if category == "in_distribution"]
            (chosen.output / "probes.tsv").write_text("".join(probes(known)), encoding="utf-8")


if __name__ == "__main__":
    main()
