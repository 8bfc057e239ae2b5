"""Recipes: typed, documented, and strict about what they do not know."""

from itertools import pairwise
from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.base.settings import documentation
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.parsers.recipe import load_recipe, read_recipe, recipe_names
from permparse.tasks import task_names
from permparse.training.schedule import rate_share


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_loads_and_survives_a_round_trip(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.task in task_names()
    assert read_recipe(recipe.to_toml(), "again") == recipe


def test_a_recipe_saved_by_an_earlier_version_still_loads() -> None:
    """Settings that came later take the default that does what was done before."""
    path = Path(__file__).with_name("recipe-0.1.toml")
    recipe = load_recipe(str(path))
    assert "decoder" not in path.read_text()
    assert (recipe.decoder, recipe.scorer.normalise, recipe.scorer.training.annotation) == (
        "search",
        True,
        "constrained",
    )
    assert recipe.candidates == 1


def test_there_is_a_recipe_for_every_task() -> None:
    assert {load_recipe(name).task for name in recipe_names()} == set(task_names())


def test_overrides_are_read_by_type() -> None:
    recipe = load_recipe(
        "doubling", ["scorer.training.lr=1e-4", "tagger.encoder.kind=geometric", "seed=7", "tensorboard=true"]
    )
    assert recipe.scorer.training.lr == 1e-4
    assert recipe.tagger.encoder.kind == "geometric"
    assert (recipe.seed, recipe.tensorboard) == (7, True)


def test_options_of_the_task_are_free_form() -> None:
    recipe = load_recipe("tsv", ["data.options.train=a.tsv", "data.options.end_token=false"])
    assert recipe.data.options == {"train": "a.tsv", "end_token": False}
    words = load_recipe("tsv", ['data.options.non_copyable=["GET", "eq"]'])
    assert read_recipe(words.to_toml(), "again").data.options["non_copyable"] == ["GET", "eq"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("scorer.training.lrr=1", "unknown key 'scorer.training.lrr': did you mean 'lr'"),
        ("stage2.lrr=1", "unknown key 'scorer.training.lrr': did you mean 'lr'"),
        ("scoer.lr=1", "unknown key 'scoer': did you mean 'scorer'"),
        ("tagger.encoder.heads=8", "tagger.encoder.heads = 8 is no longer possible: the setting was retired at 4"),
        ("tagger.encoder.kindd=x", "did you mean 'kind'"),
        ("scorer.training.lr=fast", "'scorer.training.lr': input should be a valid number.*got 'fast'"),
        ("scorer.training.lr=-1", "'scorer.training.lr': input should be greater than 0, got -1"),
        ("tagger.training.epochs=1.5", "'tagger.training.epochs'"),
        ("tagger.encoder.kind=gru", "no encoder is called 'gru'; valid: bilstm, geometric, pretrained"),
        ("scorer=3", "'scorer': expected a table, got 3"),
        ("scorer.training.lr.x=3", "'scorer.training.lr': input should be a valid number"),
        ("scorer.training.lr", "expected KEY=VALUE"),
        ("=3", "expected KEY=VALUE"),
    ],
)
def test_a_mistake_in_an_override_names_the_key_and_the_remedy(override: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_recipe("doubling", [override])


def test_a_mistake_in_a_file_names_the_file(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('task = "doubling"\n[stage1]\nepoch = 3\n')
    with pytest.raises(UserError, match=r"mine\.toml: unknown key 'tagger\.training\.epoch': did you mean 'epochs'"):
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
    undocumented = [key for key, _, text in documentation(MultisetPermutationRecipe) if not text]
    assert undocumented == []


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_the_learning_rate_rises_then_falls_to_its_floor(schedule) -> None:
    rates = [rate_share(schedule, step, 100) for step in range(100)]
    assert rates[0] < rates[2] < rates[3] == 1.0
    assert all(a > b for a, b in pairwise(rates[3:]))
    assert rates[-1] < 0.04


def test_a_recipe_may_extend_another(tmp_path) -> None:
    (tmp_path / "base.toml").write_text('extend = "okapi-calendar"\n[tagger]\nmax_count = 3\n')
    (tmp_path / "mine.toml").write_text('extend = "base.toml"\nseed = 5\n[tagger.training]\nepochs = 7\n')
    recipe, base = load_recipe(str(tmp_path / "mine.toml")), load_recipe("okapi-calendar")
    assert (recipe.seed, recipe.tagger.max_count, recipe.tagger.training.epochs) == (5, 3, 7)
    assert recipe.tagger.training.lr == base.tagger.training.lr
    assert recipe.scorer == base.scorer
    (tmp_path / "base.toml").write_text('extend = "mine.toml"\n')
    with pytest.raises(UserError, match="which extends this one in turn"):
        load_recipe(str(tmp_path / "mine.toml"))


def test_another_kind_of_encoder_takes_over_what_it_knows() -> None:
    recipe = load_recipe("okapi-calendar", ["tagger.encoder.kind=geometric"])
    assert recipe.tagger.encoder.kind == "geometric"
    assert recipe.tagger.encoder.dropout == load_recipe("okapi-calendar").tagger.encoder.dropout


def test_keys_of_version_0_1_mean_what_they_meant() -> None:
    old = ["stage1.hint=anchor", "stage1.select=dev", "stage2.lr=5e-4", "surprise=0.9", "stage2.tolerance=1e-3"]
    new = ["tagger.hints.kind=anchor", "tagger.training.select=best", "scorer.training.lr=5e-4", "surprise_weight=0.9"]
    assert load_recipe("okapi-calendar", old) == load_recipe("okapi-calendar", new)


def test_validation_by_the_longest_examples_has_become_a_setting_of_the_data() -> None:
    recipe = load_recipe("doubling", ["stage1.select=longest", "stage2.select=longest"])
    assert (recipe.data.validation, recipe.tagger.training.select) == ("longest", "best")


def test_a_trained_parser_forgets_retired_settings_of_its_training_but_not_of_its_networks() -> None:
    text = 'task = "doubling"\n[stage1]\nwarmup = 0.5\n'
    with pytest.raises(UserError, match=r"retired at 0\.03"):
        read_recipe(text, "mine")
    assert read_recipe(text, "mine", trained=True).task == "doubling"
    with pytest.raises(UserError, match="retired at 8"):
        read_recipe('task = "doubling"\n[scorer]\nmax_copies = 4\n', "mine", trained=True)


def test_a_result_does_not_depend_on_where_files_lie() -> None:
    here, there = (load_recipe("tsv", [f"data.options.train='{folder}/train.tsv'"]) for folder in ("/here", "/there"))
    assert here != there
    assert here.for_results() == there.for_results()
    assert "train.tsv" in here.for_results().to_toml()


def test_settings_are_few() -> None:
    assert len(documentation(MultisetPermutationRecipe)) <= 81
