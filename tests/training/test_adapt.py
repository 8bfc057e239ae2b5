"""Settings that adapt: by trials on training pairs, never against what a user has set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from permparse import Parser, load_recipe, train
from permparse.cli import run
from permparse.cli.options import is_own_file
from permparse.parsers.multiset_permutation import proposals
from permparse.tasks import get_task
from permparse.training import adapt
from permparse.training.adapt import Trial, adapted

SMALL = [
    *(f"{network}.encoder.{size}=16" for network in ("tagger", "scorer") for size in ("hidden_size", "embedding_size")),
    "tagger.ff_size=16",
    "scorer.ff_size=16",
]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Glued calls with commas and quotation marks."""
    monkeypatch.chdir(tmp_path)
    songs, rooms = ["tango", "waltz", "salsa", "samba", "polka"], ["hall", "attic", "study", "kitchen", "cellar"]
    lines = [f'play {s} in the {r} .\tplay(song = "{s}", at({r}))\n' for s in songs for r in rooms for _ in range(3)]
    path = tmp_path / "calls.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_the_best_alternative_of_every_round_is_taken(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    liked = {"notation": "raw", "encoder": "bilstm"}

    def score(kind, recipe, task, train, longest) -> float:
        chosen = recipe.data.notation, recipe.tagger.encoder.kind
        return 10 * sum(a == b for a, b in zip(chosen, liked.values(), strict=True))

    monkeypatch.setattr(adapt, "_score", score)
    told: list[list[Trial]] = []
    task = get_task("tsv", train=str(calls))
    recipe = adapted(load_recipe("tsv"), task, task.load("train"), lambda trials, _: told.append(trials))
    assert (recipe.data.notation, recipe.tagger.encoder.kind) == tuple(liked.values())
    tried = [["full", "raw"], ["geometric", "bilstm"], ["full", "raw"]]  # once more with the other encoder
    assert [[trial.label for trial in trials] for trials in told] == tried
    assert not recipe.adapt
    assert recipe.tagger.training.epochs > 100


def test_a_notation_must_make_up_for_the_tokens_it_keeps(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = get_task("tsv", train=str(calls))
    lengths = proposals.different_notations(task, task.load("train"))
    assert lengths["full"] < lengths["raw"] - 5
    needed = proposals.TOKEN_COST * (lengths["raw"] - lengths["full"])
    for gain, chosen in ((0.9 * needed, "full"), (1.1 * needed, "raw")):
        monkeypatch.setattr(adapt, "_score", lambda _, recipe, *__: -1 + gain * (recipe.data.notation == "raw"))  # noqa: B023
        monkeypatch.setattr(adapt, "remembered", lambda recipe, _, score: score(recipe))
        assert adapted(load_recipe("tsv"), task, task.load("train")).data.notation == chosen


@pytest.mark.parametrize(
    ("geometric", "bilstm", "chosen"),
    [
        (-0.012, -0.009, "geometric"),
        (-0.142, -0.032, "geometric"),
        (-2.514, -2.388, "geometric"),
        (-3.254, -2.913, "bilstm"),
    ],
)
def test_a_bilstm_must_be_clearly_better(
    geometric: float, bilstm: float, chosen: str, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"geometric": geometric, "bilstm": bilstm}
    monkeypatch.setattr(adapt, "_score", lambda _, recipe, *__: scores[recipe.tagger.encoder.kind])
    monkeypatch.setattr(adapt, "remembered", lambda recipe, _, score: score(recipe))
    task = get_task("tsv", train=str(calls))
    assert adapted(load_recipe("tsv"), task, task.load("train")).tagger.encoder.kind == chosen


def test_of_many_examples_the_first_proposals_are_taken(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "LARGE", 70)
    monkeypatch.delattr(adapt, "_score")
    task = get_task("tsv", train=str(calls), dev=str(calls))
    recipe = adapted(load_recipe("tsv"), task, task.load("train"))
    assert (recipe.data.notation, recipe.tagger.encoder.kind) == ("full", "geometric")


def test_a_trial_is_remembered_whatever_the_seed(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERMPARSE_CACHE", str(calls.parent / "cache"))
    seeds: list[int] = []

    def score(kind, recipe, task, train, longest) -> float:
        seeds.append(recipe.seed)
        return float(len(seeds))

    monkeypatch.setattr(adapt, "_score", score)
    task = get_task("tsv", train=str(calls))
    first = adapted(load_recipe("tsv", ["seed=3"]), task, task.load("train"))
    assert seeds == [0, 0, 0, 0]  # four trials: what a round has chosen is known in the next
    second = adapted(load_recipe("tsv", ["seed=4"]), task, task.load("train"))
    assert (first.seed, second.seed, len(seeds)) == (3, 4, 4)
    assert first == second.model_copy(update={"seed": 3})
    for damaged in (calls.parent / "cache" / "trials").glob("*.json"):
        damaged.write_text('{"score": "', encoding="utf-8")
    adapted(load_recipe("tsv"), task, task.load("train"))
    adapted(load_recipe("tsv"), task, task.load("train")[:-1])
    assert len(seeds) == 12  # damaged notes and other examples: found anew


def test_without_a_cache_folder_nothing_is_remembered(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERMPARSE_CACHE", str(calls / "cache"))
    monkeypatch.setattr(adapt, "_score", lambda *_: 0.5)
    task = get_task("tsv", train=str(calls))
    assert not adapted(load_recipe("tsv"), task, task.load("train")).adapt


def test_what_a_user_has_set_is_left_alone_and_not_tried(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt, "_score", lambda *_: 0.0)
    told: list[list[Trial]] = []
    own = ["data.notation=raw", "tagger.hints.kind=none", "tagger.training.epochs=2", "tagger.encoder.dropout=0.33"]
    task = get_task("tsv", train=str(calls))
    recipe = adapted(load_recipe("tsv", own), task, task.load("train"), lambda trials, _: told.append(trials))
    assert (recipe.data.notation, recipe.tagger.hints.kind, recipe.tagger.training.epochs) == ("raw", "none", 2)
    assert recipe.tagger.encoder.dropout == 0.33  # type: ignore[attr-defined]
    assert [[trial.label for trial in trials] for trials in told] == [["geometric", "bilstm"]]


def test_a_recipe_that_leaves_nothing_open_is_not_touched(calls: Path) -> None:
    recipe = load_recipe("doubling")
    assert adapted(recipe, get_task("doubling"), []) is recipe


def test_trials_train_on_shorter_examples_and_score_on_longer() -> None:
    task = get_task("doubling")
    shorter, longest = adapt._by_length(task.load("train"))
    assert max(len(e.source) for e in shorter) <= min(len(e.source) for e in longest)


@pytest.mark.parametrize("count", [1, 300, 4000, 100_000])
def test_training_is_counted_in_steps(count: int) -> None:
    training = proposals._training(4000, 32, count)
    steps = training["epochs"] * -(-count // 32)
    assert proposals.FEWEST_EPOCHS <= training["epochs"] <= proposals.MOST_EPOCHS
    assert steps <= 4200 or training["epochs"] == proposals.FEWEST_EPOCHS
    assert training["epochs"] // training["evaluate_every"] <= 2 * proposals.EVALUATIONS


def test_a_file_alone_is_enough(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Glued outputs with quotation marks come back byte for byte, from one command without a recipe."""
    monkeypatch.setattr(proposals, "TRIAL_STEPS", 5)
    monkeypatch.setattr(proposals, "TAG_STEPS", 150)
    monkeypatch.setattr(proposals, "ORDER_STEPS", 60)
    small = [part for item in [*SMALL, "tagger.training.lr=1e-2"] for part in ("--set", item)]
    assert run(["train", "calls.tsv", *small]) == 0
    assert "tried" in capsys.readouterr().err
    parser = Parser.load("runs/calls")
    assert not parser.recipe.adapt
    outputs = [parse.output for parse in parser.parse(["play tango in the attic.", "play bolero in the hall ."])]
    assert outputs == ['play(song = "tango", at(attic))', 'play(song = "bolero", at(hall))']
    saved = json.loads(next(Path("runs/calls/parser").glob("codec-*.json")).read_text())
    assert "(" in saved["writing"]["notation"]["dropped"] or parser.recipe.data.notation == "raw"


def test_a_file_named_like_a_recipe_does_not_hide_it(calls: Path) -> None:
    assert is_own_file("calls.tsv")
    assert is_own_file("missing.tsv")
    Path("doubling").write_text("a\tb\n")
    assert not is_own_file("doubling")
    assert not is_own_file("mine.toml")


def test_a_notation_can_be_looked_at_edited_and_trained_with(calls: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["notation", "calls.tsv"]) == 0
    shown = capsys.readouterr().out
    assert "restored exactly" in shown
    assert run(["notation", "calls.tsv", "--json", "--output", "rules.json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["restored"] is True
    assert figures["tokens_after"] < figures["tokens_before"]
    rules = json.loads(Path("rules.json").read_text())
    rules["notation"]["dropped"].remove("(")
    Path("rules.json").write_text(json.dumps(rules))
    quick = ["adapt=false", "data.notation=rules.json", "tagger.training.epochs=1", "scorer.training.epochs=1", *SMALL]
    parser = train(load_recipe("tsv", ["data.options.train=calls.tsv", *quick]), "runs/edited", quiet=True)
    assert "(" in parser.gold_tokens(parser.task.load("train")[0])
    Path("rules.json").write_text("{}")
    assert run(["train", "calls.tsv", "-o", "runs/bad", *(p for q in quick for p in ("--set", q))]) == 2
    assert "not a notation that" in capsys.readouterr().err


def test_a_user_is_warned_before_minutes_are_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"say w{i}\tS w{i}\n" for i in range(20)] + ["say it\tS ONE\n", "say it\tS TWO\n", "say it\tS THREE\n"]
    (tmp_path / "train.tsv").write_text("".join(rows))
    (tmp_path / "dev.tsv").write_text("say w1\tS w1\nsay w2\tS NEVER\nsay w3\tS w3 w3 w3\n")
    options = [f"data.options.{split}={tmp_path / f'{split}.tsv'}" for split in ("train", "dev")]
    quick = ["adapt=false", "tagger.training.epochs=1", "scorer.training.epochs=1", *SMALL]
    train(load_recipe("tsv", [*options, *quick]), tmp_path / "run")
    told = " ".join(capsys.readouterr().err.split())
    assert "1 of 3 validation outputs cannot be produced: neither training nor their input has 'NEVER'" in told
    assert "1 inputs have several outputs in training, such as 'say it'" in told
    assert "1 validation outputs are longer than any of training (2 tokens)" in told
