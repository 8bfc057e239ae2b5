"""The studies as defined: every row can be run, names are unique, and the paper's figures are there."""

import pytest

from permparse.base.errors import UserError
from permparse.experiments.catalogue import CALENDAR_ONE, CHOICES, COGS, COGS_COPY, all_studies, choose
from permparse.experiments.plan import Run
from permparse.experiments.study import Cell, Line, Row
from permparse.parsers.recipe import Recipe
from permparse.tasks import get_task

STUDIES = all_studies()
ROWS = {row for study in STUDIES.values() for row in study.rows}


def test_every_table_and_figure_of_the_paper_is_there() -> None:
    assert list(STUDIES) == [
        "cogs-exact",
        "cogs-order-free",
        "atis",
        "okapi",
        "breakdown",
        "doubling",
        "clauses",
        "ablations",
        "runtimes",
        "parameters",
    ]


@pytest.mark.parametrize("row", sorted(ROWS, key=lambda row: row.name), ids=lambda row: row.name)
def test_every_row_can_be_run(row: Row) -> None:
    recipe = Run(row, 1).recipe
    assert recipe.seed == 1
    task = get_task(recipe.task, **recipe.data.options)
    for split in row.splits:
        if not split.startswith("length-"):
            task.check_split(split)


def test_a_name_stands_for_one_configuration() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_lines_fit_their_columns(study) -> None:
    assert study.lines
    for line in study.lines:
        assert len(line.cells) == len(study.columns), line.label


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("cogs-exact", ["9 ± 13", "79 ± 11", "85 ± 14", "97 ± 2", "92 ± 2"]),
        ("cogs-order-free", ["33 ± 24", "82 ± 11", "91 ± 5", "97 ± 2", "93 ± 2"]),
        ("atis", ["76.65 ± 1.67", "41.39 ± 13.47"]),
        ("okapi", ["74.3", "57.8", "60.6"]),
    ],
)
def test_the_paper_stands_first(name: str, figures: list[str]) -> None:
    first = STUDIES[name].lines[0]
    assert first.label == "the paper, RoBERTa"
    assert [str(cell) for cell in first.cells] == figures


HAND_WRITTEN = ("short", "items", "clock")


def _notation(recipe: Recipe) -> str:
    """What a recipe knows about the output language, by its settings."""
    task = get_task(recipe.task, **recipe.data.options)
    if recipe.data.notation != "task":
        return "learned notation"
    by_hand = any(getattr(task, option, False) for option in HAND_WRITTEN)
    return "hand-written notation" if by_hand else "the paper's notation"


def _labelled() -> list[tuple[Line, Row]]:
    named = ("cogs-exact", "cogs-order-free", "atis", "okapi", "clauses")
    return [(line, row) for name in named for line in STUDIES[name].lines for row in line.rows]


def test_a_label_says_the_notation_of_every_row() -> None:
    for line, row in _labelled():
        recipe = Run(row, 1).recipe
        assert line.label.rpartition("; ")[2] == _notation(recipe), row.name
        task = get_task(recipe.task, **recipe.data.options)
        if "learned" in line.label:
            assert not any(getattr(task, option, False) for option in HAND_WRITTEN), row.name
        if recipe.task.startswith("atis") and "hand-written" not in line.label:
            assert recipe.data.lexicon == "none", row.name
    assert len({line.label.rpartition("; ")[2] for line, _ in _labelled()}) == 3


def test_tables_by_task_are_in_the_papers_notation() -> None:
    for name in ("breakdown", "runtimes", "parameters"):
        for row in STUDIES[name].rows:
            assert _notation(Run(row, 1).recipe) == "the paper's notation", row.name


def test_cogs_is_shown_with_and_without_the_lexicon() -> None:
    for name in ("cogs-exact", "cogs-order-free"):
        assert {COGS, COGS_COPY} <= set(STUDIES[name].rows)


def test_an_ablation_that_changes_nothing_is_marked_and_not_run() -> None:
    lines = {line.label: line for line in STUDIES["ablations"].lines}
    searched = lines["decoder: path search"].cells[0]
    rounded = lines["decoder: Hungarian (the paper)"].cells[0]
    assert isinstance(searched, Cell)
    assert isinstance(rounded, Cell)
    assert (searched.row, searched.mark) == (CALENDAR_ONE, "*")
    assert (rounded.row.overrides, rounded.mark) == (("candidates=1", "decoder=hungarian"), "")
    assert {choice.label for choice in CHOICES} < lines.keys()


def test_a_mistyped_name_gets_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'okapi'"):
        choose(["okpai"], STUDIES)
    assert choose(["all"], STUDIES) == list(STUDIES.values())
    assert [study.name for study in choose(["atis", "okapi", "atis"], STUDIES)] == ["atis", "okapi"]
