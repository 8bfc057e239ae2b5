"""The page of results is made from the records alone, again and again the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from permparse.experiments.catalogue import DOUBLING, all_studies
from permparse.experiments.records import Record, write_record
from permparse.experiments.report import write_report

MakeRecord = Callable[..., Record]
PNG = b"\x89PNG\r\n\x1a\n"


def test_without_a_run_the_page_shows_what_others_report_and_the_commands(results: Path) -> None:
    page = write_report(all_studies().values(), results).read_text()
    for name, study in all_studies().items():
        assert f"- {study.title}: `permparse reproduce {name}`" in page
        assert (f"## {study.title}" in page) == any(not line.rows for line in study.lines)
    assert "| the paper, RoBERTa | 9 ± 13 | 79 ± 11 | 85 ± 14 | 97 ± 2 | 92 ± 2 |" in page
    assert "| ours" not in page
    assert not (results / "figures").exists()


def test_runs_appear_in_tables_figures_and_the_list(results: Path, record: MakeRecord) -> None:
    for seed, value in enumerate((0.9, 1.0)):
        write_record(results, record(DOUBLING, seed, value))
    write_record(results, replace(record(DOUBLING, 2, 1.0), taken_from="another-seed2-12345678"))
    page = write_report(all_studies().values(), results).read_text()
    assert "| ours | 96.7 ± 5.8 | 48.3 ± 2.9 | – |" in page
    assert "| [doubling-seed0](runs/doubling-seed0.json) |" in page
    assert "another-seed2-12345678" in page
    assert "test 90.0, length-40 90.0, length-100 90.0" in page
    assert "(figures/doubling.png)" in page
    assert (results / "figures" / "doubling.png").read_bytes().startswith(PNG)


def test_the_page_is_the_same_when_written_again(results: Path, record: MakeRecord) -> None:
    write_record(results, record(DOUBLING))
    first = write_report(all_studies().values(), results).read_bytes()
    picture = (results / "figures" / "doubling.png").read_bytes()
    assert write_report(all_studies().values(), results).read_bytes() == first
    assert (results / "figures" / "doubling.png").read_bytes() == picture


def test_a_run_of_an_older_recipe_is_in_the_list_and_in_no_table(results: Path, record: MakeRecord) -> None:
    write_record(results, record(replace(DOUBLING, overrides=("tagger.training.epochs=99",))))
    page = write_report(all_studies().values(), results).read_text()
    assert "test 50.0, length-40 50.0, length-100 50.0 (in no table: of an older recipe or a seed for choosing)" in page
    assert "50.0 ±" not in page
