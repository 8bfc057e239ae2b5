"""Tables: mean ± sample standard deviation, the paper's figures beside ours, and gaps that are shown as gaps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.experiments.measures import accuracy, freq, minutes, parameters, seq_given_freq
from permparse.experiments.plan import Known
from permparse.experiments.published import Number
from permparse.experiments.records import Record, write_record
from permparse.experiments.study import Cell, Line, Row, Study
from permparse.experiments.tables import MISSING, build, summarise

ROW, OTHER = Row("mine", "doubling"), Row("other", "doubling", ("tagger.training.epochs=99",))
MakeRecord = Callable[..., Record]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=9))
def test_mean_and_deviation_are_those_of_numpy(values: list[float]) -> None:
    summary = summarise(values)
    assert summary is not None
    assert summary.n == len(values)
    assert summary.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert summary.std == pytest.approx(np.std(values, ddof=1), abs=1e-6)


def test_one_value_has_no_deviation_and_none_no_mean() -> None:
    assert summarise([3.0]).std is None  # type: ignore[union-attr]
    assert summarise([]) is None


def test_measures_read_what_they_name(record: MakeRecord) -> None:
    one = record(ROW, value=0.5)
    assert accuracy().read(one) == 50
    assert accuracy("order_free", "test", ("length", "12")).read(one) == 25
    assert accuracy("exact", "test", ("length", "13")).read(one) is None
    assert accuracy("exact", "gen").read(one) is None
    assert freq().read(one) == 50
    assert seq_given_freq().read(one) == 100
    assert [minutes(stage).read(one) for stage in ("tag", "order", None)] == [1, 2, 3]
    assert parameters().read(one) == 1.25


def test_ours_stand_below_the_paper_with_seeds_minutes_and_parameters(results: Path, record: MakeRecord) -> None:
    for seed, value in enumerate((0.5, 0.6, 0.7)):
        write_record(results, record(ROW, seed, value))
    lines = (Line("the paper", (Number(9, 13), Number(92))), Line("ours", (Cell(ROW, accuracy()), Cell(OTHER, freq()))))
    table = build(Study("fake", "Fake", ("a", "b"), lines), Known(results))
    assert table.header == ("", "a", "b", "seeds", "minutes", "parameters (M)")
    assert table.rows == (
        ("the paper", "9 ± 13", "92", "", "", ""),
        ("ours", "60.0 ± 10.0", MISSING, "3 / 0", f"4.0 / {MISSING}", f"1.25 / {MISSING}"),
    )
    assert "| ours | 60.0 ± 10.0 | – | 3 / 0 | 4.0 / – | 1.25 / – |" in table.markdown()


def test_what_does_not_vary_has_no_deviation_and_marks_follow_figures(results: Path, record: MakeRecord) -> None:
    for seed in range(2):
        write_record(results, record(ROW, seed))
    line = Line("ours", (Cell(ROW, parameters()), Cell(ROW, accuracy(), "*"), Cell(OTHER, accuracy(), "*"), "5–10"))
    table = build(Study("fake", "Fake", ("a", "b", "c", "d"), (line,), costs=False), Known(results))
    assert table.rows == (("ours", "1.25", "50.0 ± 0.0*", MISSING, "5–10", "2 / 0"),)
