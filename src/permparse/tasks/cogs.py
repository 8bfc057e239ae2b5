"""COGS (Kim & Linzen 2020): sentences to logical forms with variables named by input position.

Shortening drops what is implied: * cat ( x _ 3 ) ; eat . agent ( x _ 1 , Al ) ↦ * cat 3 eat .agent 1 Al
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from permparse.tasks.base import Metric, Task, exact_match, or_verbatim, unmarked
from permparse.tasks.cogs_items import fold, homes, unfold
from permparse.tasks.cogs_structure import structure
from permparse.tasks.downloads import data_folder
from permparse.text import Example, is_variable

RELATIONS = frozenset(
    f".{name}" for name in ("agent", "theme", "recipient", "ccomp", "xcomp", "nmod", "in", "on", "beside")
)
DROPPED = frozenset([",", "_", "(", ")", "x", ".", ";", "AND"])
DEFINITE, LAMBDA = "*", "LAMBDA"
NO_ARGUMENTS = RELATIONS | {DEFINITE, LAMBDA}
GROUPS = {"obj_pp_to_subj_pp": "OS", "cp_recursion": "CP", "pp_recursion": "PP"}
LEXICAL = "Lex"
NOT_GENERALISATION = ("in_distribution", "primitive", "exposure_example")


@final
@dataclass(frozen=True)
class Cogs(Task):
    """The paper's main task; gen has 21 categories of generalisation."""

    summary = "COGS: sentences to logical forms, 21 kinds of generalisation"
    splits = ("train", "dev", "test", "gen")
    end_token = False
    variables = True
    function_tokens = RELATIONS | {DEFINITE, LAMBDA, "a", "b", "e"}

    items: bool = field(
        default=True,
        metadata={"help": "group tokens by the word they belong to, in the order of words (the paper: false)"},
    )
    held_out: bool = field(
        default=False,
        metadata={
            "help": "hold some structures (nested clauses, ...) out of training; they become dev, for choosing settings"
        },
    )

    @property
    def name(self) -> str:
        return "cogs"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"exact": exact_match, "order_free": order_free_match}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        self.check_split(split)
        if self.held_out and split in ("train", "dev"):
            return self._structural(split, self.read(data_folder("cogs", folder) / "cogs" / "train.tsv"))
        return self.read(data_folder("cogs", folder) / "cogs" / f"{split}.tsv")

    def _structural(self, split: str, examples: Sequence[Example]) -> list[Example]:
        """The training examples without the structures held out, or those with one, named in their category."""
        found = [structure(example.source, shorten(example.output)) for example in examples]
        if split == "train":
            return [example for example, held in zip(examples, found, strict=True) if held is None]
        return [replace(e, category=held) for e, held in zip(examples, found, strict=True) if held is not None]

    def tokenize(self, sentence: str) -> list[str]:
        """Words between blanks; a full stop may stick to the last one."""
        return (sentence[:-1] + " ." if sentence.endswith(".") else sentence).split()

    def shorten(self, output: str) -> list[str]:
        flat = shorten(output)
        return or_verbatim(fold(flat), flat) if self.items and LAMBDA not in flat else flat

    def restore(self, target: Sequence[str]) -> str:
        if not self.items or LAMBDA in target:
            return restore(target)
        verbatim = unmarked(target)
        return restore(in_order(unfold(target)) if verbatim is None else verbatim)

    def homes(self, target: Sequence[str]) -> list[int | None] | None:
        if not self.items:
            return None
        return [None] * len(target) if LAMBDA in target else homes(target)

    def groups(self, example: Example) -> dict[str, str]:
        category = example.category or "unknown"
        if self.held_out:
            return {"category": category}
        if category.startswith(NOT_GENERALISATION) or example.category is None:
            return {"group": category, "category": category}
        return {"group": GROUPS.get(category, LEXICAL), "category": category}


def shorten(output: str) -> list[str]:
    """Content tokens only; the dot of `. agent` becomes part of the relation."""
    tokens = output.split()
    short, position = [], 0
    while position < len(tokens):
        merged = "".join(tokens[position : position + 2])
        if tokens[position] == "." and merged in RELATIONS:
            short.append(merged)
            position += 1
        elif tokens[position] not in DROPPED:
            short.append(tokens[position])
        position += 1
    return short


def restore(target: Sequence[str]) -> str:
    """The logical form: definite descriptions, each with a semicolon, then conjuncts; exact if well formed.

    definite: * noun argument; conjunct: predicate argument, or predicate relation+ argument argument;
    a primitive begins with LAMBDA variable. What fits nowhere is kept where it stands.
    """
    text, position = "", 0
    separator = ""
    while position < len(target):
        text += separator
        if target[position] == LAMBDA:
            piece, separator = " ".join([*target[position : position + 2], "."]), " "
            position += 2
        else:
            start = position + 1 if target[position] == DEFINITE else position
            piece, end = _atom(target, start)
            piece, separator = (f"* {piece}".strip(), " ; ") if start > position else (piece, " AND ")
            position = max(end, start)
        text += piece
    return text


def in_order(target: Sequence[str]) -> list[str]:
    """Definite descriptions in front, then conjuncts, both by their first variable, as all of COGS has them.

    The order says nothing about the meaning. A primitive stays as it is.
    """
    if LAMBDA in target:
        return list(target)
    pieces, position = [], 0
    while position < len(target):
        end = max(position + 1, _ends(target, position + (target[position] == DEFINITE))[1])
        pieces.append(list(target[position:end]))
        position = end
    pieces.sort(key=lambda piece: (piece[0] != DEFINITE, next((int(t) for t in piece if is_variable(t)), len(target))))
    return [token for piece in pieces for token in piece]


def _atom(target: Sequence[str], start: int) -> tuple[str, int]:
    """The predicate at `start` with its arguments, and where it ends."""
    if start >= len(target):
        return "", start
    relations, end = _ends(target, start)
    predicate = _argument(target[start]) + "".join(f" . {relation[1:]}" for relation in target[start + 1 : relations])
    arguments = " , ".join(map(_argument, target[relations:end]))
    return (f"{predicate} ( {arguments} )" if arguments else predicate), end


def _ends(target: Sequence[str], start: int) -> tuple[int, int]:
    """Where the relations of the predicate at `start` end, and where its arguments do: one, or two of a relation."""
    relations = min(start + 1, len(target))
    while relations < len(target) and target[relations] in RELATIONS:
        relations += 1
    end, last = relations, min(relations + (1 if relations == start + 1 else 2), len(target))
    while end < last and target[end] not in NO_ARGUMENTS:
        end += 1
    return relations, end


def _argument(token: str) -> str:
    return f"x _ {token}" if is_variable(token) else token


def order_free_match(predicted: str, gold: str) -> bool:
    """The same set of definite descriptions in front and the same set of conjuncts (the paper's measure)."""
    return _parts(predicted) == _parts(gold)


def _parts(form: str) -> tuple[set[str], set[str]]:
    *definites, rest = " ".join(form.split()).split(" ; ")
    return set(definites), set(rest.split(" AND "))
