"""ATIS: questions about flights to FunQL queries, in the iid split and in the split by length.

Brackets stand only where they are needed; what is implied is left out as well, unless `short` is false. Which type a
relation implies is learned from the training queries of the split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, final

from permparse.tasks.base import Metric, Task, exact_match, or_verbatim, unmarked
from permparse.tasks.clock import on_the_clock
from permparse.tasks.downloads import data_folder
from permparse.tasks.funql import VARIADIC, parse, tree_match, widest
from permparse.tasks.funql_short import implied_types, leave_out, put_back
from permparse.text import Example
from permparse.text.tokenizers import english_tokens


@final
@dataclass(frozen=True)
class Atis(Task):
    """Tree match ignores the order of conjuncts and disjuncts."""

    function_tokens = VARIADIC | {"(", ")", "answer"}

    kind: Literal["iid", "length"] = field(default="iid", metadata={"fixed": True})
    short: bool = field(
        default=True, metadata={"help": "leave out answer, implied types and the last intersection (the paper: false)"}
    )
    types: tuple[tuple[str, str], ...] = field(default=(), metadata={"learned": True})
    clock: bool = field(default=True, metadata={"help": "read 5pm as 1700, as the queries have it (the paper: false)"})

    @property
    def name(self) -> str:
        return f"atis-{self.kind}"

    @property
    def summary(self) -> str:  # type: ignore[override]  # a plain attribute elsewhere
        tested = {"iid": "queries as in training", "length": "more conjuncts than in training"}
        return f"ATIS: questions about flights to FunQL; {tested[self.kind]}"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"tree": tree_match, "exact": exact_match}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        self.check_split(split)
        return self.read(data_folder("atis", folder) / "atis" / f"{self.kind}_{split}.tsv")

    def tokenize(self, sentence: str) -> list[str]:
        """Lower-cased and without a final mark, as all of the data is: Boston? is boston."""
        sentence = sentence.lower().rstrip(" ?!")
        return english_tokens(on_the_clock(sentence) if self.clock else sentence)

    def shorten(self, output: str) -> list[str]:
        tokens = output.split()
        return or_verbatim(leave_out(tokens, dict(self.types)), tokens) if self.short else tokens

    def restore(self, target: Sequence[str]) -> str:
        verbatim = unmarked(target) if self.short else target
        return " ".join(put_back(target, dict(self.types)) if verbatim is None else verbatim)

    def learned(self, examples: Sequence[Example]) -> "Atis":
        types = implied_types(example.output.split() for example in examples) if self.short else {}
        return replace(self, types=tuple(types.items()))

    @property
    def knowledge(self) -> dict[str, str]:
        return dict(self.types)

    def with_knowledge(self, knowledge: Mapping[str, str]) -> "Atis":
        return replace(self, types=tuple(knowledge.items()))

    def groups(self, example: Example) -> dict[str, str]:
        """By the most conjuncts in one place: the length split has 0–3 in train, 4 in dev, 5–7 in test."""
        tree = parse(example.output.split())
        return {"conjuncts": str(widest(tree)) if tree else "ill-formed"}
