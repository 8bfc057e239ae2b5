"""The recipe: every setting of a run in one model tree, read from TOML and saved with the run.

The text under a field is its documentation everywhere: here, in `permparse train --help` and in the docs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Literal, Self, get_args, get_origin

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from permparse.errors import UserError, nearest
from permparse.nn import ScorerConfig, TaggerConfig

Decoder = Literal["search", "hungarian"]


class Section(BaseModel):
    """A table of the recipe: immutable, unknown keys refused, fields documented by the text under them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Optimisation(Section):
    """How the weights of one stage are trained."""

    epochs: int = Field(default=10, ge=0)
    """Passes over the training data."""
    batch: int = Field(default=48, ge=1)
    """Examples in a batch; batches hold examples of similar length."""
    lr: float = Field(default=1e-3, gt=0)
    """Highest learning rate (AdamW)."""
    final_lr: float = Field(default=0.01, ge=0, le=1)
    """Learning rate at the end, as a share of lr. A low one matters: dev accuracy is blind to it, longer
    inputs are not."""
    warmup: float = Field(default=0.03, ge=0, lt=1)
    """Share of the steps in which the learning rate rises from 0."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate falls after the warm-up."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay."""
    gradient_norm: float = Field(default=3.0, gt=0)
    """Gradients are scaled down to this norm."""
    averaging: float = Field(default=0.0, ge=0, lt=1)
    """Decay of the exponential moving average of the weights that is evaluated and kept; 0 keeps the
    weights themselves."""
    select: Literal["dev", "longest", "last"] = "dev"
    """Which epoch is kept: the best on dev, the best on the longest training examples (held out for it), or
    the last."""
    held_out: float = Field(default=0.03, gt=0, lt=0.5)
    """Share of the training data, its longest examples, that select = "longest" holds out."""
    patience: int = Field(default=0, ge=0)
    """Stop after this many evaluations without a better score; 0 never stops early."""
    evaluate_every: int = Field(default=1, ge=1)
    """Epochs between evaluations (the last epoch is always evaluated)."""
    evaluate_examples: int = Field(default=500, ge=1)
    """Examples used for an evaluation during training, evenly spread over the split."""


class Tagging(Optimisation):
    """Stage 1: the multiset tagger."""

    hint: Literal["ibm1", "anchor", "value", "task", "none"] = "ibm1"
    """Where tokens probably come from. ibm1: links of an IBM-1 aligner (the paper). anchor: the word behind the next
    token that only one word can produce, for outputs in which operators name their arguments. value: the first word
    of the value that directly follows an operator; all else by IBM-1. task: the word that the task's own notation
    says (COGS)."""
    hint_threshold: float = Field(default=0.6, ge=0, le=1)
    """Posterior χ from which a link of the IBM-1 aligner counts as a hint."""
    hint_weight: float = Field(default=1.0, ge=0)
    """Weight λ of the alignment hint; 0 switches it off."""
    hint_epochs: int = Field(default=8, ge=0)
    """The alignment hint is used for the first g epochs."""


class Ordering(Optimisation):
    """Stage 2: the jump permutation."""

    temperature: float = Field(default=1.0, gt=0)
    """Scale of the entropy weight τ = temperature · (log n)^-temperature_power."""
    temperature_power: float = Field(default=1.0, ge=0)
    """Power of log n in the entropy weight: 1 in the paper, 2 in its reference implementation."""
    tolerance: float = Field(default=1e-3, gt=0)
    """The solver stops when the constraints hold to this residual; a smaller one costs time and changes
    little."""
    max_sweeps: int = Field(default=150, ge=1)
    """The solver stops after this many sweeps over the constraints at the latest."""
    score_limit: float = Field(default=50.0, gt=0)
    """Scores x enter the loss as s·tanh(x/s), or clipped to ±s without scorer.normalise: beyond, the solver would
    have to leave its fast arithmetic."""
    annotation: Literal["constrained", "drop"] = "constrained"
    """Multisets of the training examples: the most likely one whose union is gold, which loses no example, or the
    most likely one, dropping the examples where it is not gold (the paper)."""


class Data(Section):
    """Where the examples come from and how words are seen."""

    folder: Path | None = None
    """Folder of the task's data; without it the data is downloaded into the cache."""
    options: dict[str, str | int | float | bool | list[str]] = {}
    """Options of the task (see `permparse tasks NAME`), such as the files of the tsv task."""
    train_examples: int = Field(default=0, ge=0)
    """Use only this many training examples, evenly spread; 0 uses all."""
    lowercase: bool = False
    """Words are looked up in the tagger's vocabulary in lower case."""
    share_names: bool = False
    """Words that training writes with a capital only share one entry of the vocabulary: where any name may stand in
    the place of any other."""
    min_count: int = Field(default=1, ge=1)
    """Words seen less often than this in training share the class of rare words."""
    lexicon: Literal["induced", "copy", "none"] = "induced"
    """How words map to output tokens: learned from the training pairs with copying as fallback, copying
    only, or not."""


class Recipe(Section):
    """Everything that decides what a run computes."""

    task: str
    """Name of the task; `permparse tasks` lists them."""
    seed: int = Field(default=0, ge=0, lt=2**31)
    """Every random choice follows from it."""
    tensorboard: bool = False
    """Write TensorBoard curves beside the JSON log."""
    decoder: Decoder = "search"
    """How the trained parser puts tokens in order: by searching for the best path score, or by rounding the relaxed
    permutation with the Hungarian algorithm (the paper). Training does not depend on it."""
    candidates: int = Field(default=1, ge=1)
    """How many of the likeliest multisets the trained parser compares; 1 takes the likeliest (the paper). Training does
    not depend on it."""
    surprise: float = Field(default=0.5, ge=0)
    """With several candidates: weight of how badly an output reads, against the log probability of its multiset. It
    reads badly where a token is rarer after the two before it, in the training outputs, than on the whole."""
    checkpoint_seconds: float = Field(default=60.0, gt=0)
    """Save the state at least this often (and after every epoch)."""
    data: Data = Data()
    """Where the examples come from."""
    tagger: TaggerConfig = TaggerConfig()
    """The network of stage 1."""
    scorer: ScorerConfig = ScorerConfig()
    """The network of stage 2."""
    stage1: Tagging = Tagging()
    """Training of stage 1."""
    stage2: Ordering = Ordering()
    """Training of stage 2."""

    def for_training(self) -> Self:
        """The recipe without what matters to the trained parser alone: what agrees in it is one training."""
        parsing = ("decoder", "candidates", "surprise")
        return self.model_copy(update={name: type(self).model_fields[name].default for name in parsing})

    def to_toml(self) -> str:
        """The recipe with every setting spelt out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))

    @classmethod
    def from_toml(cls, text: str, where: str, overrides: Iterable[str] = ()) -> Self:
        """Read a recipe and apply ``key=value`` overrides; every mistake names its place and the nearest
        valid key."""
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{where}: not valid TOML: {error}") from error
        _require_known_keys(table, cls, where)
        for override in overrides:
            _apply(table, override, cls)
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            raise UserError(f"{where}: {_first_mistake(error)}") from error


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = resources.files("permparse") / "recipes"
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def load_recipe(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """A recipe by name (one that comes with the package) or by path (a TOML file)."""
    if name in recipe_names():
        text = (resources.files("permparse") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        return Recipe.from_toml(text, f"recipe {name}", overrides)
    path = Path(name)
    if not path.is_file():
        if path.suffix == ".toml" or len(path.parts) > 1:
            raise UserError(f"{path}: no such recipe file")
        raise UserError(f"no recipe {name!r}: {nearest(name, recipe_names())} (or give the path of a .toml file)")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    return Recipe.from_toml(text, str(path), overrides)


def documentation(section: type[BaseModel] = Recipe, prefix: str = "") -> list[tuple[str, str, str]]:
    """(key, default, what it does) of every setting, in the order of the recipe."""
    rows = []
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            rows += documentation(inner, f"{prefix}{name}.")
        else:
            default = "" if field.is_required() else _as_toml(field.get_default(call_default_factory=True))
            choices = [str(choice) for choice in get_args(inner)] if get_origin(inner) is Literal else []
            text = " ".join((field.description or "").split())
            rows.append((prefix + name, default, f"{text} One of: {', '.join(choices)}." if choices else text))
    return rows


def _as_toml(value: object) -> str:
    """A setting as it is written in a recipe and after --set; nothing if it is not set."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return "{}" if value == {} else tomli_w.dumps({"value": value}).removeprefix("value = ").strip()


def _require_known_keys(table: Mapping[str, object], section: type[BaseModel], where: str, prefix: str = "") -> None:
    for key, value in table.items():
        field = section.model_fields.get(key)
        if field is None:
            raise UserError(f"{where}: unknown key {prefix + key!r}: {nearest(key, section.model_fields)}")
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            if not isinstance(value, dict):
                raise UserError(f"{where}: {prefix + key!r}: expected a table, got {value!r}")
            _require_known_keys(value, inner, where, f"{prefix}{key}.")


def _apply(table: dict[str, object], override: str, section: type[BaseModel]) -> None:
    """Put ``a.b=value`` into the table; the value is read as TOML, or taken as text if it is none."""
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not key:
        raise UserError(f"--set {override}: expected KEY=VALUE, such as stage2.lr=1e-3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    tree: dict[str, object] = {}
    *parents, leaf = key.split(".")
    inner, target = tree, table
    for parent in parents:
        inner[parent] = inner = {}
    inner[leaf] = value
    _require_known_keys(tree, section, f"--set {override}")
    for parent in parents:
        below = target.setdefault(parent, {})
        if not isinstance(below, dict):
            raise UserError(f"--set {override}: {parent!r} is not a table")
        target = below
    target[leaf] = value


def _first_mistake(error: ValidationError) -> str:
    mistake = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "missing":
        return f"{key!r} is missing"
    return f"{key!r}: {mistake['msg'][0].lower()}{mistake['msg'][1:]}, got {mistake['input']!r}"
