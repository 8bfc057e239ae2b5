"""COGS forms gathered word by word lose nothing, and every operator knows its word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.tasks.cogs_items import fold, homes, unfold

TASK = get_task("cogs")

FORMS = {
    # A frog in the house was seen by Al .
    "* house 4 frog 1 frog .nmod .in 1 4 see .theme 6 1 see .agent 6 Al": (
        "frog 1 .nmod .in * house 4 see .theme 1 .agent Al 6"
    ),
    # The cat said that Bo ran .
    "* cat 1 say .agent 2 1 say .ccomp 2 5 run .agent 5 Bo": "* cat 1 say .agent 1 2 .ccomp run .agent Bo 5",
    # Al wanted to eat a cake .
    "want .agent 1 Al want .xcomp 1 3 eat .agent 3 Al eat .theme 3 5 cake 5": (
        "want .agent Al 1 .xcomp eat .theme 5 3 cake 5"
    ),
    "Paula": "Paula",
}


@pytest.mark.parametrize(("flat", "items"), FORMS.items())
def test_conjuncts_are_gathered_by_word(flat, items):
    assert fold(flat.split()) == items.split()
    assert unfold(items.split()) == flat.split()


def test_a_form_in_another_order_is_kept_as_it_is():
    form = "cat ( x _ 4 ) AND dog ( x _ 1 )"
    assert TASK.shorten(form) == ["␣", "cat", "4", "dog", "1"]
    assert TASK.restore(TASK.shorten(form)) == form


def test_operators_belong_to_the_variable_of_their_item():
    target = ["frog", "1", ".nmod", ".in", "*", "house", "4", "see", ".agent", "1", "6"]
    assert homes(target) == [1, 1, 6, 6, 6, 6, 6, 10, 10, 10, 10]
    assert homes(["*", "fox"]) == [None, None]
    assert TASK.homes(["LAMBDA", "a", "fox", "a"]) == [None] * 4
    assert get_task("cogs", items=False).homes(target) is None


TOKENS = ["*", ".agent", ".nmod", ".in", ".ccomp", ".xcomp", "cat", "Al", "1", "2", "LAMBDA"]


@given(st.lists(st.sampled_from(TOKENS), max_size=12))
def test_any_sequence_is_restored_to_some_form(tokens):
    form = TASK.restore(tokens)
    assert TASK.restore(TASK.shorten(form)).split() == form.split() or "LAMBDA" in form
    assert len(homes(tokens)) == len(tokens)
