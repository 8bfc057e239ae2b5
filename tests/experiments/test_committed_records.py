"""The records in results/ were written by several versions; all of them can still be read."""

from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.experiments.records import read_record, read_records
from permparse.parsers.recipe import read_recipe

RESULTS = Path(__file__).parents[2] / "results"


NO_RUN = "kinds-of-values"
"""Evaluations of a setting that no longer exists, kept beside the records."""


def test_every_record_loads_and_its_recipe_too() -> None:
    paths = [path for path in sorted((RESULTS / "history").glob("*-seed*.json")) if NO_RUN not in path.name]
    earlier = [read_record(path) for path in paths]
    assert len(earlier) >= 96
    for record in (*earlier, *read_records(RESULTS)):
        recipe = read_recipe(record.recipe, record.name)
        assert recipe.seed == record.seed
        assert tuple(record.stages) == recipe.stages
        assert record.seconds > 0


def test_records_in_use_have_fresh_seeds() -> None:
    assert all(record.seed >= 100 for record in read_records(RESULTS))


def test_history_says_which_commit_made_each_record() -> None:
    listed = (RESULTS / "history" / "README.md").read_text(encoding="utf-8")
    for path in (RESULTS / "history").glob("*.json"):
        assert f"| {path.name} |" in listed, path.name


def test_what_cannot_be_read_any_more_says_so() -> None:
    with pytest.raises(UserError, match=r"data\.kinds = True is no longer possible"):
        read_recipe('task = "atis-length"\n[data]\nkinds = true\n', "old")
