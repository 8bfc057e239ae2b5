"""A user's own tab-separated files: raw text in, exact match, results by category if there are any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from permparse.base.errors import UserError
from permparse.tasks.base import Metric, Task, exact_match
from permparse.text import Example
from permparse.text.tokenizers import tokenizer
from permparse.text.unordered import with_sorted_arguments

HELD_OUT = 10
"""Without a dev file every tenth training example is held out, or the last of fewer."""


@final
@dataclass(frozen=True)
class Tsv(Task):
    """input<TAB>output[<TAB>category], nothing to write."""

    summary = "your own file: input<TAB>output[<TAB>category]"
    splits = ("train", "dev", "test")
    raw_outputs = True

    train: str | None = field(default=None, metadata={"help": "file of training examples"})
    dev: str | None = field(
        default=None, metadata={"help": "file of validation examples; without it, every tenth line of train"}
    )
    test: str | None = field(default=None, metadata={"help": "file to evaluate on"})
    tokenizer: str = field(
        default="words", metadata={"help": "how inputs are cut: words (and signs), blanks (only there) or spacy"}
    )
    end_token: bool = field(default=True, metadata={"help": "append an end token to the input"})
    variables: bool = field(default=False, metadata={"help": "number p in an output names input position p, from 0"})
    case_insensitive: bool = field(default=False, metadata={"help": "ignore case in copying and in the metric"})
    non_copyable: frozenset[str] = field(default=frozenset(), metadata={"help": "words that are never copied"})
    unordered: frozenset[str] = field(
        default=frozenset(),
        metadata={"help": "calls or conjunctions, such as and, the order of whose arguments means nothing"},
    )

    @property
    def name(self) -> str:
        return "tsv"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        return {"exact": self._match}

    def __post_init__(self) -> None:
        tokenizer(self.tokenizer)

    def tokenize(self, sentence: str) -> list[str]:
        return tokenizer(self.tokenizer)(sentence)

    def available_splits(self, folder: Path | None = None) -> list[str]:
        """train, dev (a part of train if no file is named) and, if a file is named, test."""
        return [split for split in self.splits if split != "test" or self.test is not None]

    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        """A split by its option, relative to `folder` if one is named; or any file by its path."""
        if split in self.splits:
            named: str | None = getattr(self, split)
            if split == "test" or self.dev is not None:
                return self._examples(split, named, folder)
            train, dev = _held_out(self._examples("train", self.train, folder))
            return train if split == "train" else dev
        if Path(folder or ".", split).is_file():
            return self.read(Path(folder or ".", split))
        self.check_split(split)
        raise AssertionError("unreachable: check_split raises for an unknown split")

    def example(self, sentence: str, output: str = "", category: str | None = None, line: int = 0) -> Example:
        return super().example(sentence, with_sorted_arguments(output, self.unordered), category, line)

    def _examples(self, split: str, named: str | None, folder: Path | None) -> list[Example]:
        if named is None:
            raise UserError(f"the task tsv needs the option {split}: the path of a tab-separated file")
        return self.read(Path(folder or ".", named).expanduser())

    def _match(self, predicted: str, gold: str) -> bool:
        predicted = with_sorted_arguments(predicted, self.unordered)
        gold = with_sorted_arguments(gold, self.unordered)
        if self.case_insensitive:
            predicted, gold = predicted.lower(), gold.lower()
        return exact_match(predicted, gold)


def _held_out(examples: list[Example]) -> tuple[list[Example], list[Example]]:
    """Examples to train on and to select by; a single one has to serve for both."""
    step = min(HELD_OUT, len(examples))
    train = [example for i, example in enumerate(examples, 1) if i % step]
    return train or examples, examples[step - 1 :: step]
