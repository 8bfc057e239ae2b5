"""The parser a user touches: `Parser.load(path)`, `.parse(sentence)`, `.save(path)`; and what training asks of it.

>>> parser = Parser.load("runs/fragment")        # doctest: +SKIP
>>> parser.parse("a cat saw a dog").output       # doctest: +SKIP
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, overload

import torch
from torch import nn

from permparse.base.errors import UserError, nearest
from permparse.base.settings import as_toml
from permparse.base.storage import REMEDY, is_saved, load_folder, save_folder
from permparse.parsers.explanation import Explanation
from permparse.parsers.parse import Parse
from permparse.parsers.recipe import Recipe, Round, read_recipe
from permparse.parsers.registry import parser_class
from permparse.parsers.sharing.sources import located
from permparse.parsers.stage import Stage
from permparse.tasks import Task, get_task
from permparse.text import Example, clean_sentence

KIND = "parser"
FOLDER = "parser"
RECIPE_FILE = "recipe.toml"
NOT_A_PARSER = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What files that no parser wrote can lead to while they are read."""


@dataclass(frozen=True)
class Splits:
    """What a training sees: the examples to learn from, and those that select an epoch."""

    train: Sequence[Example]
    validation: Sequence[Example]


class Parser(ABC):
    """A parser: what it is made from, the stages that train it, parsing, and the files it is saved as.

    To add one, subclass it with a `recipe_class` of its own; a recipe names it by `parser = "module:Class"`.
    """

    recipe_class: ClassVar[type[Recipe]] = Recipe
    error_kinds: ClassVar[tuple[str, ...]] = ("tokens", "order")
    """What `error_kind` answers."""
    chunk: ClassVar[int] = 2000
    """Sentences that `parse_chunk` is given at a time, at most."""

    def __init__(self, recipe: Recipe, task: Task) -> None:
        self.recipe, self.task = recipe, task

    # What a parser has to say for itself

    @classmethod
    @abstractmethod
    def build(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Self:
        """An untrained parser, with the words and tokens of the training examples; its weights follow from the seed."""

    @property
    @abstractmethod
    def networks(self) -> dict[str, nn.Module]:
        """The network of every stage, by the name of the stage, in the order of training."""

    @abstractmethod
    def stages(self, splits: Splits) -> Iterator[Stage]:
        """What has to be trained, one after the other: a stage is made when those before it are trained."""

    @abstractmethod
    def parse_chunk(self, sources: Sequence[Sequence[str]], sentences: Sequence[str], n_best: int) -> list[Parse]:
        """Parse some sentences, given as words and as text, with ``n_best`` alternatives each if more than one."""

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """The files that a saved parser consists of, the recipe aside."""

    @classmethod
    @abstractmethod
    def from_files(cls, recipe: Recipe, task: Task, files: Mapping[str, bytes], where: str) -> Self:
        """The inverse of `files`; a UserError that begins with ``where`` if they are no such files."""

    # What it may say

    @classmethod
    def proposals(cls, recipe: Recipe, task: Task, examples: Sequence[Example]) -> Sequence[Round]:
        """Settings that may suit the training examples, in rounds of alternatives: what `adapt` chooses from."""
        return ()

    @classmethod
    def for_trial(cls, recipe: Recipe, examples: int) -> Recipe:
        """The recipe with a training that is long enough to tell alternatives apart, and no longer."""
        return recipe

    def warnings(self, splits: Splits) -> list[str]:
        """What a user should know before minutes are lost: outputs out of reach, contradictions, lengths."""
        return []

    def initialise(self, new_stages: Collection[str]) -> list[str]:
        """Give the networks of these stages, which have not begun to train, the vectors or weights that their settings
        name; lines that say what was found."""
        return []

    def starting_files(self, new_stages: Collection[str]) -> list[Path]:
        """The files besides the data that a run reads whose stages of these names have not begun; one that is resumed
        must find them unchanged."""
        notation = self.recipe.data.notation
        return [Path(notation)] if notation.endswith(".json") else []

    def calibrate(self, examples: Sequence[Example]) -> None:
        """Learn from held-out examples how confident to be."""
        return

    def facts(self) -> list[str]:
        """What it knows, in a few words each: 57 words, 40 symbols, 1,000 + 2,000 parameters."""
        sizes = " + ".join(f"{parameters(network):,}" for network in self.networks.values())
        return [f"{sizes} parameters"] if sizes else []

    def error_kind(self, example: Example, parse: Parse) -> str:
        """Why the output of an example is wrong: one of `error_kinds`."""
        gold, found = self.gold_and_found(example, parse)
        return "order" if Counter(found) == Counter(gold) else "tokens"

    def prepare(self) -> None:
        """Compile now what parsing would compile when it is first needed; after loading, for a service."""
        return

    def explain(self, parse: Parse) -> Explanation | None:
        """The figures behind one of its parses; None if it has none to give."""
        return None

    def compared(self, tokens: Sequence[str]) -> list[str]:
        """Tokens as they are compared: in lower case where case does not matter."""
        return self.task.canonical(tokens)

    def gold_tokens(self, example: Example) -> list[str]:
        """The gold tokens of an example in the notation of `Parse.tokens`, as they are compared."""
        return self.compared(example.target)

    def gold_and_found(self, example: Example, parse: Parse) -> tuple[list[str], list[str]]:
        """The tokens of an example and of its parse in one notation, as they are compared."""
        return self.gold_tokens(example), self.compared(parse.tokens)

    # What all parsers share

    def __repr__(self) -> str:
        known = ", ".join([self.task.name, *self.facts(), f"on {self.recipe.device}"])
        return f"<{type(self).__name__} of {known}>"

    @classmethod
    def load(cls, path: str | Path, task: Task | None = None, **changes: object) -> Parser:
        """Load a parser from the folder of a run or of a saved parser, a packaged file, the name of one that comes with
        permparse ("fragment") or with an installed package, or a Hugging Face repository ("hf://owner/name"); a damaged
        or foreign one is refused in words.

        ``task`` takes the place of the one that the recipe names; ``changes`` those of settings that matter to parsing
        alone, such as ``candidates=1`` or ``device="cuda"``. Only a recipe that names classes of its own, as
        `module:Class`, runs code from outside this package.
        """
        with located(path) as folder:
            return cls._from_folder(folder, task, changes)

    @classmethod
    def from_pretrained(cls, repository: str, revision: str | None = None, **changes: object) -> Parser:
        """Load a parser from a Hugging Face repository, "owner/name", or from any folder."""
        name = repository if Path(repository).exists() else f"hf://{repository}" + (f"@{revision}" if revision else "")
        return cls.load(name, None, **changes)

    @classmethod
    def _from_folder(cls, folder: Path, task: Task | None, changes: Mapping[str, object]) -> Parser:
        if not is_saved(folder) and is_saved(folder / FOLDER):
            folder = folder / FOLDER
        elif not is_saved(folder) and (folder / RECIPE_FILE).is_file():
            raise UserError(f"{folder}: this training has not finished; permparse train --resume --output {folder}")
        files = load_folder(folder, KIND)
        try:
            recipe = _changed(files[RECIPE_FILE].decode(), f"{folder}: recipe", changes)
            chosen = task or get_task(recipe.task, **recipe.data.options)
            return parser_class(recipe.parser).from_files(recipe, chosen, files, str(folder))
        except KeyError as error:
            raise UserError(f"{folder}: {error.args[0]!s:.100} is missing from this parser") from error
        except NOT_A_PARSER as error:
            # The files are what the manifest says, and still no parser: someone has written them by other means.
            raise UserError(f"{folder}: damaged, or not a parser of permparse ({_named(error)}); {REMEDY}") from error

    def save(self, path: str | Path) -> None:
        """Save the parser as a folder of TOML, JSON and safetensors, replacing an earlier one all at once."""
        save_folder(Path(path), KIND, {RECIPE_FILE: self.recipe.to_toml().encode(), **self.files()})

    def push_to_hub(self, repository: str, private: bool = False, token: str | None = None) -> str:
        """Upload the parser with a model card to a Hugging Face repository, "owner/name"; the address of the commit."""
        from permparse.parsers.sharing.card import model_card
        from permparse.parsers.sharing.hub import push

        return push(self, repository, model_card(self, repository), private, token)

    @overload
    def parse(self, sentence: str, n_best: int = 1) -> Parse: ...
    @overload
    def parse(self, sentence: list[str], n_best: int = 1) -> list[Parse]: ...
    def parse(self, sentence: str | list[str], n_best: int = 1) -> Parse | list[Parse]:
        """Parse one sentence, or a list of them in batches; ``n_best`` > 1 adds alternatives.

        An empty sentence, or one with control characters, is a UserError; `parse_each` answers for each by itself.
        """
        answers = self.parse_each([sentence] if isinstance(sentence, str) else sentence, n_best)
        for number, answer in enumerate(answers, 1):
            if isinstance(answer, UserError):
                raise answer if isinstance(sentence, str) else UserError(f"sentence {number}: {answer}")
        parses = [answer for answer in answers if isinstance(answer, Parse)]
        return parses[0] if isinstance(sentence, str) else parses

    def parse_each(self, sentences: Sequence[str], n_best: int = 1) -> list[Parse | UserError]:
        """Parse sentences in batches; one that cannot be parsed gets a UserError in its place, all others a parse."""
        if isinstance(sentences, (str, bytes)) or not isinstance(sentences, Sequence):
            raise UserError(f"expected a sentence or a list of sentences, got {type(sentences).__name__}")
        answers: list[Parse | UserError | None] = []
        texts: list[str] = []
        for sentence in sentences:
            try:
                texts.append(_checked(sentence))
                answers.append(None)
            except UserError as error:
                answers.append(error)
        parses = iter(self._parse_texts(texts, n_best))
        return [next(parses) if answer is None else answer for answer in answers]

    def parse_words(
        self,
        sources: Sequence[Sequence[str]],
        sentences: Sequence[str] | None = None,
        n_best: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> list[Parse]:
        """Parse sentences that are already split into words, chunk by chunk; ``progress`` is told how many are done."""
        texts = sentences or [" ".join(words) for words in sources]
        parses: list[Parse] = []
        for first in range(0, len(sources), self.chunk):
            last = first + self.chunk
            parses += self.parse_chunk(sources[first:last], texts[first:last], n_best)
            if progress:
                progress(len(parses))
        return parses

    def _parse_texts(self, texts: Sequence[str], n_best: int) -> list[Parse | UserError]:
        """Parse clean sentences together; if one is refused, each by itself."""
        if n_best > self.recipe.max_n_best:
            raise UserError(f"n_best: expected at most {self.recipe.max_n_best} (setting max_n_best), got {n_best}")
        sources = [self.task.tokenize(text) for text in texts]
        try:
            for words in sources:
                if len(words) > self.recipe.max_words:
                    raise UserError(
                        f"expected at most {self.recipe.max_words:,} words in a sentence (setting max_words), "
                        f"got {len(words):,}; split the text into sentences"
                    )
            return list(self.parse_words(sources, texts, n_best))
        except UserError as error:
            if len(texts) == 1:
                return [error]
        return [answer for text in texts for answer in self._parse_texts([text], n_best)]


def device_of(recipe: Recipe) -> torch.device:
    """The device that the recipe names; UserError if there is none."""
    try:
        device = torch.device(recipe.device)
        torch.empty(0, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device = {recipe.device!r}: not available here ({reason}); try device = 'cpu'") from error
    return device


def parameters(network: nn.Module) -> int:
    """How many parameters a network has."""
    return sum(p.numel() for p in network.parameters())


def _named(error: BaseException) -> str:
    """An error in few words."""
    return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"


def _checked(sentence: object) -> str:
    if not isinstance(sentence, str):
        raise UserError(f"expected a sentence as text, got {type(sentence).__name__}: {sentence!r}")
    return clean_sentence(sentence)


def _changed(text: str, where: str, changes: Mapping[str, object]) -> Recipe:
    """The recipe of a trained parser with settings that matter to parsing alone changed."""
    wanted = {key: value for key, value in changes.items() if value is not None}
    possible = ("device", *read_recipe(text, where, trained=True).parse_settings)
    for key in wanted:
        if key not in possible:
            raise UserError(f"{key} cannot be changed when a parser is loaded; {nearest(key, possible)}")
    return read_recipe(text, where, [f"{key}={as_toml(value)}" for key, value in wanted.items()], trained=True)
