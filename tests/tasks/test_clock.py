"""Times are written as the queries have them; all else is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.tasks.clock import on_the_clock


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("after 5pm", "after 1700"),
        ("at 720am or so", "at 720 or so"),
        ("12pm and 12am", "1200 and 0"),
        ("between 5 and 7:30 pm", "between 1700 and 1930"),
        ("around 7 o'clock in the evening on monday", "around 1900 on monday"),
        ("before 12 noon", "before noon"),
        ("8 in the morning", "800"),
        ("flight 417 to 21 airports", "flight 417 to 21 airports"),
        ("in the morning", "in the morning"),
        ("13pm, 5 pmx", "13pm, 5 pmx"),
        ("july 5 in the evening", "july 5 in the evening"),
        ("on july 5 at 6 in the evening", "on july 5 at 1800"),
    ],
)
def test_times_are_written_as_in_the_queries(said, written):
    assert on_the_clock(said) == written


@given(st.text(st.sampled_from("0159 :apmo'clk."), max_size=25))
def test_only_times_change_and_only_once(text):
    read = on_the_clock(text)
    if not any(half in text for half in ("am", "pm", "a.m", "p.m")):
        assert read == text
    # Every time takes its half of the day with it, so that none is left to be read a second time.
    assert len(read.split()) <= len(text.split())


def test_the_task_reads_the_clock_unless_told_not_to():
    pytest.importorskip("spacy")
    assert get_task("atis-iid").tokenize("Leaving at 5pm?") == ["leaving", "at", "1700"]
    assert get_task("atis-iid", clock=False).tokenize("Leaving at 5pm?") == ["leaving", "at", "5", "pm"]
