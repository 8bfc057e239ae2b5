"""A task, an encoder and a parser of one's own: one file each, outside the package, named in a recipe."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from permparse import Parser, UserError, load_recipe, train
from permparse.base import plugins
from permparse.cli import run
from permparse.tasks import get_task, task_names

TASK = '''
from dataclasses import dataclass, field

from permparse import Task
from permparse.tasks import exact_match


@dataclass(frozen=True)
class Shout(Task):
    """Every word in capitals."""

    summary = "words in capitals"
    loud: bool = field(default=True, metadata={"help": "shout"})

    @property
    def name(self):
        return "shout"

    @property
    def metrics(self):
        return {"exact": exact_match}

    def load(self, split, folder=None):
        size = {"train": 40, "dev": 10, "test": 10}[split]
        words = ["ann", "bob", "saw", "met"]
        sentences = [" ".join(words[(i * k) % 4] for k in (1, 2, 3)) for i in range(size)]
        return [self.example(s, s.upper() if self.loud else s) for s in sentences]
'''

ENCODER = '''
from torch import nn

from permparse.nn.encoders import Encoder, EncoderSettings


class Letters(Encoder):
    """A word is the mean of its letters: pieces cut by the encoder itself, on the device of the batch."""

    class Settings(EncoderSettings):
        letters: int = 16

    def __init__(self, settings, sizes):
        super().__init__(settings, sizes)
        self.letters = nn.EmbeddingBag(256, settings.letters)

    size = contents_size = property(lambda self: self.settings.letters)

    def forward(self, sentences, contents=None):
        rows = [[[b % 256 for b in word.encode()] for word in words] for words in sentences.words]
        states = self.letters.weight.new_zeros((*sentences.ids.shape, self.size))
        for b, row in enumerate(rows):
            for i, word in enumerate(row):
                states[b, i] = self.letters(sentences.ids.new_tensor([word]))[0]
        return states if contents is None else states + contents
'''

PARSER = '''
import json

import torch
from pydantic import Field

from permparse.parsers import Parse, Parser, Recipe


class Memory(Parser):
    """Remembers the training pairs and says what it has heard, without any network."""

    class recipe_class(Recipe):
        shrug: str = "?"

    def __init__(self, recipe, task, known):
        super().__init__(recipe, task)
        self.known = known

    @classmethod
    def build(cls, recipe, task, examples):
        return cls(recipe, task, {" ".join(e.source): e.output for e in examples})

    networks = property(lambda self: {})

    def stages(self, splits):
        return iter(())

    def parse_chunk(self, sources, sentences, n_best):
        outputs = [self.known.get(" ".join(words), self.recipe.shrug) for words in sources]
        return [
            Parse(text, output, tuple(words), tuple(self.task.shorten(output)), 0.0, 1.0)
            for text, words, output in zip(sentences, sources, outputs, strict=True)
        ]

    def files(self):
        return {"memory.json": json.dumps(self.known).encode()}

    @classmethod
    def from_files(cls, recipe, task, files, where):
        return cls(recipe, task, json.loads(files["memory.json"]))
'''

QUICK = ["tagger.training.epochs=1", "scorer.training.epochs=1"]


@pytest.fixture(autouse=True)
def _own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("my_task", TASK), ("my_encoder", ENCODER), ("my_parser", PARSER)):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.chdir(tmp_path)


def test_a_task_of_ones_own_by_path(tmp_path: Path) -> None:
    recipe = load_recipe("tsv", ["task=my_task:Shout", "data.options.loud=false", *QUICK])
    parser = train(recipe, tmp_path / "run", quiet=True)
    assert parser.task.name == "shout"
    assert Parser.load(tmp_path / "run").task.load("test")[0].output.islower()
    assert run(["evaluate", str(tmp_path / "run")]) == 0
    assert run(["data", "my_task:Shout", "--option", "loud=true"]) == 0


def test_a_task_of_ones_own_as_an_object(tmp_path: Path) -> None:
    from my_task import Shout  # type: ignore[import-not-found]

    parser = train(load_recipe("tsv", QUICK), tmp_path / "run", task=Shout(), quiet=True)
    again = Parser.load(tmp_path / "run", task=Shout())
    assert again.parse("ann saw bob") == parser.parse("ann saw bob")


def test_a_task_of_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("shout", "my_task:Shout", "permparse.tasks")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == point.group else [])
    assert "shout" in task_names()
    assert get_task("shout", loud=False).load("dev")[1].output == "bob saw met"


def test_an_encoder_of_ones_own(tmp_path: Path) -> None:
    change = ["tagger.encoder.kind=my_encoder:Letters", "tagger.encoder.letters=8", "tagger.encoder.lr=1e-4"]
    recipe = load_recipe("doubling", [*change, *QUICK, "data.train_examples=60"])
    parser = train(recipe, tmp_path / "run", quiet=True)
    again = Parser.load(tmp_path / "run")
    assert again.recipe.tagger.encoder.letters == 8  # type: ignore[attr-defined]
    assert again.parse("a b c") == parser.parse("a b c")
    with pytest.raises(UserError, match=r"unknown key 'tagger\.encoder\.layers'"):
        load_recipe("doubling", [*change, "tagger.encoder.layers=2"])


def test_a_parser_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('task = "doubling"\nparser = "my_parser:Memory"\nshrug = "eh"\n')
    parser = train(load_recipe("memory.toml"), tmp_path / "run", quiet=True)
    known = parser.task.load("train")[0]
    again = Parser.load(tmp_path / "run")
    assert repr(again) == "<Memory of doubling, on cpu>"
    assert [p.output for p in again.parse([known.sentence, "a"])] == [known.output, "eh"]
    assert run(["evaluate", str(tmp_path / "run"), "--errors", "1", "--limit", "20"]) == 0
    assert run(["train", "memory.toml", "--settings"]) == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Task", "its module cannot be imported"),
        ("my_task:Whisper", "my_task has no 'Whisper'"),
        ("my_task:field", "expected a class"),
        ("my_parser:Memory", r"expected a subclass of permparse\.Task"),
        ("shuot", "no task is called 'shuot'"),
    ],
)
def test_what_is_no_task_is_refused_in_words(name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        get_task(name)
