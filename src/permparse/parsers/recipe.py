"""The recipe: every setting of a run in one tree of tables, read from TOML and saved with the run.

`Recipe` holds what all parsers have in common; each parser has a recipe class that adds its own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError

from permparse.base.errors import UserError, nearest
from permparse.base.settings import Section, Table, first_mistake, merged, nested, read_pair, read_toml
from permparse.nn.encoders import encoder_class
from permparse.parsers.legacy import modernised
from permparse.parsers.registry import DEFAULT_PARSER, parser_class

EXTEND = "extend"
"""The key by which a recipe names another, whose settings it takes over where it has none."""


class Training(Section):
    """How the weights of one stage are trained."""

    epochs: int = Field(default=10, ge=0, le=10**6)
    """Passes over the training data."""
    batch: int = Field(default=48, ge=1, le=10**6)
    """Examples in a batch; batches hold examples of similar length."""
    lr: float = Field(default=1e-3, gt=0, le=1e3)
    """Highest learning rate (AdamW)."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls after the warm-up."""
    averaging: float = Field(default=0.0, ge=0, lt=1)
    """Decay of the exponential moving average of the weights that is evaluated and kept; 0 keeps the weights
    themselves."""
    select: Literal["best", "last"] = "best"
    """Which epoch is kept: the best on the validation examples, or the last."""
    patience: int = Field(default=0, ge=0, le=10**6)
    """Stop after this many evaluations without a better score; 0 never stops early."""
    evaluate_every: int = Field(default=1, ge=1, le=10**6)
    """Epochs between evaluations (the last epoch is always evaluated)."""


class Data(Section):
    """Where the examples come from and how words are seen."""

    folder: Path | None = None
    """Folder of the task's data; without it the data is downloaded into the cache."""
    options: dict[str, str | int | float | bool | list[str]] = Field(default={})
    """Options of the task (see `permparse tasks NAME`), such as the files of the tsv task."""
    train_examples: int = Field(default=0, ge=0, le=2**40)
    """Use only this many training examples, evenly spread; 0 uses all."""
    validation: Literal["dev", "longest"] = "dev"
    """The examples that select an epoch: those of the dev split, or the longest training examples, held out."""
    lowercase: bool = False
    """Look words up in lower case."""
    share_names: bool = False
    """Words that training writes with a capital only share one entry of the vocabulary: where any name may stand in
    the place of any other."""
    min_count: int = Field(default=1, ge=1, le=2**40)
    """Words seen less often than this in training share the class of rare words."""
    notation: str = Field(default="task", pattern=r"^(task|raw|signs|wordless|full|ends|bold|.*\.json)$")
    """How outputs are written as target tokens: as the task writes them; raw, cut into tokens and nothing dropped; or
    in a notation learned from the training pairs that drops signs and bound variables the other tokens imply (signs),
    also words that no word of the input says (wordless), also words that their neighbours imply (full), also at the
    price of exceptions (bold), or with a name for what ends an argument where their number varies (ends); or by the
    rules in a .json file that `permparse notation` wrote."""
    lexicon: Literal["induced", "copy", "none"] = "induced"
    """How words map to output tokens: learned from the training pairs with copying as fallback, copying only, or not at
    all."""


class Recipe(Section):
    """Everything that decides what a run computes."""

    parse_settings: ClassVar[tuple[str, ...]] = ("max_words", "max_n_best")
    """Settings that matter to the trained parser alone and may be changed when it is loaded."""

    task: str
    """Name of the task (`permparse tasks` lists them), or the path of a class of your own, module:Class."""
    parser: str = DEFAULT_PARSER
    """Name of the parser to train, or the path of a class of your own, module:Class."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Every random choice follows from it."""
    device: str = "cpu"
    """Where training and parsing run, as torch names it: cpu, cuda, cuda:1, mps."""
    max_words: int = Field(default=2000, ge=1)
    """Longer sentences are refused when parsing: time and memory grow with the square of the length."""
    max_n_best: int = Field(default=100, ge=1)
    """More alternatives for a sentence are refused when parsing."""
    adapt: bool = False
    """Choose for the training data what the recipe leaves open, by its figures and by short trials; the recipe saved
    with the run says what was chosen."""
    tensorboard: bool = False
    """Write TensorBoard curves beside the JSON log."""
    data: Data = Data()
    """Where the examples come from."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages that train it, in order."""
        return ()

    def for_training(self) -> Self:
        """The recipe without what matters to the trained parser alone: what agrees in it is one training."""
        return self.model_copy(update={name: type(self).model_fields[name].default for name in self.parse_settings})

    def for_results(self) -> Self:
        """The recipe without what changes no result: where the data lies and where it runs, what is logged."""
        options = {key: _file_name(value) for key, value in self.data.options.items()}
        data = self.data.model_copy(update={"folder": None, "options": options})
        return self.model_copy(update={"data": data, "tensorboard": False, "device": "cpu"})

    def for_stage(self, stage: str) -> tuple[object, ...]:
        """All that decides the weights of a stage: runs that agree in it can share them."""
        return (self.for_results().for_training(),)

    def stage_training(self, stage: str) -> Training:
        """The training settings of a stage."""
        raise NotImplementedError(f"{type(self).__name__} has no stage {stage!r}")


@dataclass(frozen=True)
class Round:
    """One round of the trials of `adapt`: from a recipe to alternatives of it, by a label each; and by how much some of
    them have to be better, because they cost more than trials see."""

    alternatives: Callable[[Any], Mapping[str, Any]]
    handicaps: Mapping[str, float] = field(default_factory=dict)

    def handicapped(self, label: str, score: float) -> float:
        """The score that counts."""
        return score - self.handicaps.get(label, 0.0)


def read_recipe(text: str, where: str, overrides: Iterable[str] = (), trained: bool = False) -> Recipe:
    """Read a recipe from TOML and apply ``key=value`` overrides; every mistake names its place and the nearest valid
    key. Keys of earlier versions are understood, and of a ``trained`` parser those of its training forgotten."""
    return _validated(modernised(read_toml(text, where), where, trained), where, overrides)


def load_recipe(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """A recipe by name (one that comes with the package) or by path (a TOML file)."""
    text, where = _recipe_text(name, Path())
    return _validated(_table(text, where, Path(name).parent), where, overrides)


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = resources.files("permparse") / "recipes"
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def _file_name(value: Any) -> Any:
    """The name of a file that is given by its full path; any other value as it is."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _table(text: str, where: str, folder: Path | None = None, above: tuple[str, ...] = ()) -> Table:
    """The settings of a recipe and of those that it extends, by their present names."""
    table = modernised(read_toml(text, where), where)
    base = table.pop(EXTEND, None)
    if base is None:
        return table
    if not isinstance(base, str) or base in above:
        wrong = "which extends this one in turn" if base in above else "expected the name of a recipe"
        raise UserError(f"{where}: {EXTEND} = {base!r}: {wrong}")
    below, where_below = _recipe_text(base, folder or Path())
    return _changed(_table(below, where_below, folder, (*above, base)), table)


def _recipe_text(name: str, folder: Path) -> tuple[str, str]:
    """The text of a recipe and what to call it in a message."""
    if name in recipe_names():
        text = (resources.files("permparse") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        return text, f"recipe {name}"
    path = folder / name
    if not path.is_file():
        if path.suffix == ".toml" or len(path.parts) > 1:
            raise UserError(f"{path}: no such recipe file")
        raise UserError(f"no recipe {name!r}: {nearest(name, recipe_names())} (or give the path of a .toml file)")
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def _changed(below: Table, above: Table) -> Table:
    """The settings of ``below`` with those of ``above`` in their place. Where the parser or the kind of an encoder
    changes, the new one takes over the settings that it knows; another task takes over no options."""
    result = dict(below)
    parser = str(above.get("parser", below.get("parser", DEFAULT_PARSER)))
    if parser != below.get("parser", DEFAULT_PARSER):
        known_fields = parser_class(parser).recipe_class.model_fields
        result = {key: value for key, value in result.items() if key in known_fields}
    if above.get("task", below.get("task")) != below.get("task"):
        result["data"] = {key: value for key, value in below.get("data", {}).items() if key != "options"}
    for network, change in above.items():
        encoder = change.get("encoder", {}) if isinstance(change, dict) else {}
        known = below.get(network, {}).get("encoder", {}) if isinstance(below.get(network), dict) else {}
        if isinstance(encoder, dict) and encoder.get("kind", known.get("kind")) != known.get("kind"):
            fields = encoder_class(str(encoder["kind"])).Settings.model_fields
            result[network] = below.get(network, {}) | {"encoder": {k: v for k, v in known.items() if k in fields}}
    return merged(result, above)


def _validated(table: dict[str, Any], where: str, overrides: Iterable[str]) -> Recipe:
    for override in overrides:
        key, value = read_pair(override, "scorer.training.lr=1e-3")
        table = _changed(table, modernised(nested(key, value), f"--set {override}"))
        where = f"{where} --set {override}"
    kind: type[Recipe] = parser_class(str(table.get("parser", DEFAULT_PARSER))).recipe_class
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise UserError(f"{where}: {first_mistake(error)}") from error
