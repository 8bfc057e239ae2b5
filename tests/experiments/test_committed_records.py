"""The records in results/ were written by several versions; all of them still count."""

from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.experiments.catalogue import all_studies
from permparse.experiments.plan import Known, missing, runs_of
from permparse.experiments.records import read_records
from permparse.parsers.recipe import read_recipe

RESULTS = Path(__file__).parents[2] / "results"


def test_every_record_loads_and_its_recipe_too() -> None:
    records = read_records(RESULTS)
    assert len(records) >= 95
    for record in records:
        recipe = read_recipe(record.recipe, record.name)
        assert recipe.seed == record.seed
        assert tuple(record.stages) == recipe.stages
        assert record.seconds > 0


def test_what_was_done_before_the_rebuild_is_done() -> None:
    """Every row of every table has at least the seeds that it had."""
    known = Known(RESULTS)
    done = {run.name for run in runs_of(all_studies().values(), None) if known.find(run) is not None}
    left = {run.name for run in missing(runs_of(all_studies().values(), None), known)}
    assert not done & left
    shown = {record.name for study in all_studies().values() for row in study.rows for record in known.of_row(row)}
    assert {record.name for record in known.records} <= shown


def test_what_cannot_be_read_any_more_says_so() -> None:
    with pytest.raises(UserError, match=r"data\.kinds = True is no longer possible"):
        read_recipe('task = "atis-length"\n[data]\nkinds = true\n', "old")
