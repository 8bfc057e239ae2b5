"""What a task is: how to read its files, tokenize, shorten and restore outputs, and tell right from wrong.

Concrete tasks are final frozen dataclasses; their fields are the options a user may set.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from permparse.base.errors import UserError, nearest
from permparse.text import Example, Lexicon, canonical, read_tsv

Metric = Callable[[str, str], bool]
"""(predicted output, gold output) → right or wrong. Never raises, whatever the prediction."""
VERBATIM = "␣"
"""The first target token of an output that shortening could not restore, and so leaves as it is."""


class Task(ABC):
    """A semantic-parsing task. `restore(shorten(y)) == y` for every well-formed output y."""

    summary: str
    """One line for `permparse tasks`."""
    splits: tuple[str, ...] = ("train", "dev", "test")
    dev_split: str = "dev"
    """The split that training looks at."""
    end_token: bool = True
    """Whether the models append an end token to the source."""
    variables: bool = False
    """Whether the target token p, a decimal number, names the variable of input position p (from 0)."""
    non_copyable: frozenset[str] = frozenset()
    """Words that copying never produces."""
    function_tokens: frozenset[str] = frozenset()
    """Target tokens that no single word stands for: never in an induced lexicon."""
    raw_outputs: bool = False
    """Whether outputs are raw text, to be cut into tokens by rules that a parser learns."""
    case_insensitive: bool = False
    """Whether the metric ignores case, so that a word may be copied into a token of other case."""
    samples: tuple[str, ...] = ()
    """Sentences to try, like those of training."""
    deep_samples: tuple[str, ...] = ()
    """Sentences to try that are longer or deeper than any of training."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that `get_task` knows it by."""

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, Metric]:
        """Name → metric; the first is the main one."""

    @abstractmethod
    def load(self, split: str, folder: Path | None = None) -> list[Example]:
        """All examples of a split, from `folder` if one is named."""

    def available_splits(self, folder: Path | None = None) -> list[str]:
        """The splits that there are examples of."""
        return list(self.splits)

    def tokenize(self, sentence: str) -> list[str]:
        """Source tokens of a sentence."""
        return sentence.split()

    def shorten(self, output: str) -> list[str]:
        """Target tokens of an output: as few as needed to restore it."""
        return output.split()

    def restore(self, target: Sequence[str]) -> str:
        """The output that the tokens stand for; on an ill-formed sequence best effort, never an exception."""
        return " ".join(target)

    def canonical(self, tokens: Iterable[str]) -> list[str]:
        """Tokens as they are compared: in lower case where case does not matter."""
        return [canonical(token, self.case_insensitive, self.non_copyable) for token in tokens]

    def homes(self, target: Sequence[str]) -> list[int | None] | None:
        """For every target token the index of the token whose word it belongs to (None: no such word), if the
        notation defines it; tagger.hints.kind = "task" uses it."""
        return None

    def learned(self, examples: Sequence[Example]) -> "Task":
        """The task with what its notation learns from training examples; itself if it learns nothing."""
        return self

    @property
    def knowledge(self) -> dict[str, str]:
        """What it has learned, to be saved with a parser."""
        return {}

    def with_knowledge(self, knowledge: Mapping[str, str]) -> "Task":
        """The task that has learned this."""
        return self

    def groups(self, example: Example) -> dict[str, str]:
        """By what to break results down: {"category": "PP", ...}."""
        return {} if example.category is None else {"category": example.category}

    def example(self, sentence: str, output: str = "", category: str | None = None, line: int = 0) -> Example:
        """An example from text."""
        return Example(
            source=tuple(self.tokenize(sentence)),
            target=tuple(self.shorten(output)),
            output=output,
            sentence=sentence,
            category=category,
            line=line,
        )

    def check_split(self, split: str) -> None:
        """UserError if there is no such split."""
        if split not in self.splits:
            raise UserError(f"the task {self.name} has no split {split!r}; {nearest(split, self.splits)}")

    def read(self, path: Path) -> list[Example]:
        """The examples of a tab-separated file."""
        return [self.example(row.input, row.output, row.category, row.line) for row in read_tsv(path)]


def build_lexicon(
    mode: str,
    task: Task,
    examples: Sequence[Example],
    variables: bool | None = None,
    fold: bool | None = None,
    by_number: bool = False,
) -> Lexicon:
    """The lexicon of a mode (induced, copy, none) with the task's own exceptions, from training examples.

    ``variables``: numbers name positions; ``fold``: case does not matter in copying; both as in the task if not given.
    ``by_number``: see `Lexicon.induce`.
    """
    variables = task.variables if variables is None else variables
    fold = task.case_insensitive if fold is None else fold
    if mode == "induced":
        return Lexicon.induce(
            examples,
            non_copyable=task.non_copyable,
            function_tokens=task.function_tokens,
            case_insensitive=fold,
            variables=variables,
            by_number=by_number,
        )
    if mode == "copy":
        return Lexicon.copying(
            examples,
            non_copyable=task.non_copyable,
            case_insensitive=fold,
            variables=variables,
        )
    if mode == "none":
        return Lexicon.empty(examples, non_copyable=task.non_copyable, case_insensitive=fold, variables=variables)
    raise UserError(f"no lexicon mode is called {mode!r}; {nearest(mode, ('induced', 'copy', 'none'))}")


def exact_match(predicted: str, gold: str) -> bool:
    """The same text up to white space."""
    return predicted.split() == gold.split()


def or_verbatim(short: list[str] | None, tokens: Sequence[str]) -> list[str]:
    """The short form of an output, or, where there is none, its tokens marked as they are."""
    return [VERBATIM, *tokens] if short is None else short


def unmarked(target: Sequence[str]) -> Sequence[str] | None:
    """The tokens behind the mark of `or_verbatim`; None if there is no mark."""
    return target[1:] if target and target[0] == VERBATIM else None
