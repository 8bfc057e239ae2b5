"""What is done is skipped, what has changed is run again, and what agrees is trained once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from permparse.base.errors import UserError
from permparse.experiments import plan
from permparse.experiments.measures import accuracy
from permparse.experiments.plan import Known, Run, folder_for, missing, only_rows, runs_of, trained_stage_for
from permparse.experiments.records import Record, read_records, write_record
from permparse.experiments.study import Cell, Line, Row, Study

ROW = Row("mine", "doubling", ("tagger.training.epochs=3",))
MakeRecord = Callable[..., Record]


def _study(*rows: Row) -> Study:
    return Study("fake", "Fake", ("all",), tuple(Line(row.name, (Cell(row, accuracy()),)) for row in rows))


def test_every_row_is_run_with_every_seed_and_first_seeds_come_first() -> None:
    other = Row("other", "doubling")
    runs = runs_of([_study(ROW, other), _study(ROW)], 2)
    assert [run.name for run in runs] == ["mine-seed0", "other-seed0", "mine-seed1", "other-seed1"]


def test_tables_show_seeds_that_no_setting_was_chosen_by(
    results: Path, record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "FIRST_SEED", 100)
    assert [run.seed for run in runs_of([_study(ROW)], 2)] == [100, 101]
    for seed in (7, 100):
        write_record(results, record(ROW, seed))
    assert [found.seed for found in Known(results).of_row(ROW)] == [100]


def test_single_rows_can_be_chosen_by_name() -> None:
    runs = runs_of([_study(ROW, Row("other", "doubling"))], 2)
    assert [run.name for run in only_rows(runs, ["other"])] == ["other-seed0", "other-seed1"]
    assert only_rows(runs, []) == runs
    with pytest.raises(UserError, match="no row is called 'othr' here: did you mean 'other'"):
        only_rows(runs, ["othr"])


def test_a_record_is_read_as_it_was_written(results: Path, record: MakeRecord) -> None:
    path = write_record(results, record(ROW))
    assert path == results / "runs" / "mine-seed0.json"
    assert read_records(results) == [record(ROW)]
    assert not list(path.parent.glob("*.part"))


def test_a_damaged_record_is_refused_in_words(results: Path, record: MakeRecord) -> None:
    path = write_record(results, record(ROW))
    path.write_text(path.read_text()[:100])
    with pytest.raises(UserError, match="not the record of a run"):
        read_records(results)


def test_what_is_done_is_skipped(results: Path, record: MakeRecord) -> None:
    runs = runs_of([_study(ROW)], 2)
    assert missing(runs, Known(results)) == runs
    write_record(results, record(ROW, 0))
    assert [run.seed for run in missing(runs, Known(results))] == [1]


def test_a_changed_recipe_is_run_again(results: Path, record: MakeRecord) -> None:
    write_record(results, record(ROW))
    changed = Run(replace(ROW, overrides=("tagger.training.epochs=4",)), 0)
    known = Known(results)
    assert missing([changed], known) == [changed]
    assert known.outdated(changed)
    assert not known.outdated(Run(ROW, 0))
    assert not known.outdated(Run(replace(ROW, name="new"), 0))


def test_a_split_that_was_not_evaluated_is_missing(results: Path, record: MakeRecord) -> None:
    write_record(results, record(ROW))
    more = Run(replace(ROW, splits=("test", "length-40")), 0)
    assert missing([more], Known(results)) == [more]


def test_what_changes_no_result_makes_no_new_run(results: Path, record: MakeRecord) -> None:
    write_record(results, record(ROW))
    elsewhere = ("data.folder=elsewhere", "tensorboard=true", "checkpoint_seconds=5", "device=cuda")
    assert not missing([Run(replace(ROW, overrides=(*ROW.overrides, *elsewhere)), 0)], Known(results))


def test_a_setting_that_did_not_exist_yet_had_its_default(results: Path, record: MakeRecord) -> None:
    old = record(ROW)
    assert "decoder" in old.recipe
    write_record(results, replace(old, recipe=old.recipe.replace('decoder = "search"\n', "")))
    assert not missing([Run(ROW, 0)], Known(results))


def test_a_recipe_of_another_version_is_run_again(results: Path, record: MakeRecord) -> None:
    write_record(results, replace(record(ROW), recipe='task = "doubling"\nforgotten = 1\n'))
    assert missing([Run(ROW, 0)], Known(results)) == [Run(ROW, 0)]
    assert Known(results).outdated(Run(ROW, 0))


def test_rows_with_the_same_settings_are_run_once(results: Path, record: MakeRecord) -> None:
    same = replace(ROW, name="same")
    assert missing([Run(ROW, 0), Run(same, 0)], Known(results)) == [Run(ROW, 0)]
    write_record(results, record(ROW))
    assert not missing([Run(same, 0)], Known(results))
    assert Known(results).of_row(same) == [record(ROW)]


def test_a_row_that_cannot_be_resolved_is_missing_and_shown_empty(results: Path) -> None:
    bad = Row("bad", "doubling", ("tagger.training.epoch=3",))
    assert missing([Run(bad, 0)], Known(results)) == [Run(bad, 0)]
    assert Known(results).of_row(bad) == []


@pytest.mark.parametrize("override", ["decoder=hungarian", "candidates=20", "surprise=2.0"])
def test_another_way_to_parse_needs_no_training_of_its_own(trained: tuple, override: str) -> None:
    job, _ = trained
    runs = job.folder.parent
    other = replace(job.row, name="other", overrides=(*job.row.overrides, override))
    assert folder_for(Run(other, 0), runs) == job.folder
    assert folder_for(Run(other, 1), runs) != job.folder


def test_stage_1_is_found_for_a_run_that_differs_after_it(trained: tuple) -> None:
    job, _ = trained
    runs = job.folder.parent

    def changed(override: str) -> Run:
        return Run(replace(job.row, name="other", overrides=(*job.row.overrides, override)), 0)

    assert trained_stage_for(changed("scorer.training.lr=2e-3"), runs) == ("tag", job.folder)
    assert folder_for(changed("scorer.training.lr=2e-3"), runs) != job.folder
    assert trained_stage_for(changed("tagger.training.lr=2e-3"), runs) is None
    assert trained_stage_for(changed("data.lexicon=copy"), runs) is None
