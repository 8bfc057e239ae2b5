"""COGS without variables, as raw files: every noun stands in the place of its variable.

    python benchmarks/variable_free.py COGS data/variable_free
    permparse train data/variable_free/train.tsv --option dev=data/variable_free/dev.tsv --seed 100 --output runs/free
    permparse evaluate runs/free --file data/variable_free/gen.tsv

*A cat on the bed slept* has the form `sleep ( agent = cat ( nmod . on = * bed ) )`, after Qiu et al. (2022). COGS is
the folder with the authors' files.
"""

from __future__ import annotations

import argparse
from pathlib import Path


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


def main() -> None:
    """Write the four files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cogs", type=Path, help="folder of train.tsv, dev.tsv, test.tsv and gen.tsv")
    parser.add_argument("output", type=Path)
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test", "gen"):
        rows = [line.split("\t") for line in (chosen.cogs / f"{split}.tsv").read_text(encoding="utf-8").splitlines()]
        lines = [f"{sentence}\t{without_variables(form)}\t{category}\n" for sentence, form, category in rows]
        (chosen.output / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
