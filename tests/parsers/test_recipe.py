"""Recipes: typed, documented, and strict about what they do not know."""

from itertools import pairwise
from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.tasks import task_names
from permparse.training.recipe import Optimisation, Recipe, documentation, load_recipe, recipe_names
from permparse.training.schedule import learning_rate


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_loads_and_survives_a_round_trip(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.task in task_names()
    assert Recipe.from_toml(recipe.to_toml(), "again") == recipe


def test_a_recipe_saved_by_an_earlier_version_still_loads() -> None:
    """Settings that came later take the default that does what was done before."""
    path = Path(__file__).with_name("recipe-0.1.toml")
    recipe = load_recipe(str(path))
    assert "decoder" not in path.read_text()
    assert (recipe.decoder, recipe.scorer.normalise, recipe.stage2.annotation) == ("search", True, "constrained")
    assert recipe.candidates == 1


def test_there_is_a_recipe_for_every_task() -> None:
    assert {load_recipe(name).task for name in recipe_names()} == set(task_names())


def test_overrides_are_read_by_type() -> None:
    recipe = load_recipe("doubling", ["stage2.lr=1e-4", "tagger.encoder.kind=geometric", "seed=7", "tensorboard=true"])
    assert recipe.stage2.lr == 1e-4
    assert recipe.tagger.encoder.kind == "geometric"
    assert (recipe.seed, recipe.tensorboard) == (7, True)


def test_options_of_the_task_are_free_form() -> None:
    recipe = load_recipe("tsv", ["data.options.train=a.tsv", "data.options.end_token=false"])
    assert recipe.data.options == {"train": "a.tsv", "end_token": False}
    words = load_recipe("tsv", ['data.options.non_copyable=["GET", "eq"]'])
    assert Recipe.from_toml(words.to_toml(), "again").data.options["non_copyable"] == ["GET", "eq"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("stage2.lrr=1", "unknown key 'stage2.lrr': did you mean 'lr'"),
        ("stag2.lr=1", "unknown key 'stag2': did you mean 'stage2'"),
        ("tagger.encoder.kindd=x", "did you mean 'kind'"),
        ("stage2.lr=fast", "'stage2.lr': input should be a valid number.*got 'fast'"),
        ("stage2.lr=-1", "'stage2.lr': input should be greater than 0, got -1"),
        ("stage1.epochs=1.5", "'stage1.epochs'"),
        ("tagger.encoder.kind=gru", "'tagger.encoder.kind': input should be 'geometric'"),
        ("stage2=3", "'stage2': expected a table, got 3"),
        ("stage2.lr.x=3", "'lr' is not a table"),
        ("stage2.lr", "expected KEY=VALUE"),
        ("=3", "expected KEY=VALUE"),
    ],
)
def test_a_mistake_in_an_override_names_the_key_and_the_remedy(override: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_recipe("doubling", [override])


def test_a_mistake_in_a_file_names_the_file(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('task = "doubling"\n[stage1]\nepoch = 3\n')
    with pytest.raises(UserError, match=r"mine\.toml: unknown key 'stage1\.epoch': did you mean 'epochs'"):
        load_recipe(str(path))
    path.write_text("task = \n")
    with pytest.raises(UserError, match="not valid TOML"):
        load_recipe(str(path))
    path.write_text("seed = 1\n")
    with pytest.raises(UserError, match="'task' is missing"):
        load_recipe(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="UTF-8"):
        load_recipe(str(path))
    with pytest.raises(UserError, match="did you mean 'doubling'"):
        load_recipe("doublin")
    with pytest.raises(UserError, match="no such recipe file"):
        load_recipe(str(tmp_path / "none.toml"))


def test_every_setting_is_documented() -> None:
    undocumented = [key for key, _, text in documentation() if not text]
    assert undocumented == []


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_the_learning_rate_rises_then_falls_to_its_floor(schedule) -> None:
    settings = Optimisation(lr=1.0, final_lr=0.01, warmup=0.1, schedule=schedule)
    rates = [learning_rate(settings, step, 100) for step in range(100)]
    assert rates[0] < rates[9] < rates[10] == 1.0
    assert all(a > b for a, b in pairwise(rates[10:]))
    assert rates[-1] < 0.04
