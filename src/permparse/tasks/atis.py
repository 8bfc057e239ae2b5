"""ATIS: questions about flights to FunQL queries, in the iid split and in the split by length.

Outputs are taken as they are: brackets stand only where they are needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, final

from permparse.data import Example, data_folder
from permparse.tasks.base import Metric, Task, exact_match
from permparse.tasks.funql import VARIADIC, parse, tree_match, widest
from permparse.tasks.tokenizers import english_tokens


@final
@dataclass(frozen=True)
class Atis(Task):
    """Tree match ignores the order of conjuncts and disjuncts."""

    summary = "ATIS: questions about flights to FunQL queries"
    function_tokens = VARIADIC | {"(", ")", "answer"}

    kind: Literal["iid", "length"] = field(default="iid", metadata={"fixed": True})

    @property
    def name(self) -> str:
        return f"atis-{self.kind}"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"tree": tree_match, "exact": exact_match}

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        self.check_split(split)
        return self.read(data_folder("atis", folder) / "atis" / f"{self.kind}_{split}.tsv")

    def tokenize(self, sentence: str) -> list[str]:
        """Lower-cased and without a final mark, as all of the data is: Boston? is boston."""
        return english_tokens(sentence.lower().rstrip(" ?!"))

    def groups(self, example: Example) -> dict[str, str]:
        """By the most conjuncts in one place: the length split has 0–3 in train, 4 in dev, 5–7 in test."""
        tree = parse(example.target)
        return {"conjuncts": str(widest(tree)) if tree else "ill-formed"}
