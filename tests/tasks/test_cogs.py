"""COGS forms are shortened and restored exactly; the order-free metric ignores order and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.tasks.cogs import RELATIONS, order_free_match

TASK = get_task("cogs")

FORMS = {
    "* cake 3 snap .agent 1 Al snap .theme 1 3": (
        "* cake ( x _ 3 ) ; snap . agent ( x _ 1 , Al ) AND snap . theme ( x _ 1 , x _ 3 )"
    ),
    "* fox 1 * car 6 fox .nmod .in 1 6": ("* fox ( x _ 1 ) ; * car ( x _ 6 ) ; fox . nmod . in ( x _ 1 , x _ 6 )"),
    "fox 1 run .agent 12 1": "fox ( x _ 1 ) AND run . agent ( x _ 12 , x _ 1 )",
    "LAMBDA a fox a": "LAMBDA a . fox ( a )",
    "LAMBDA a LAMBDA b LAMBDA e toss .agent e b toss .theme e a": (
        "LAMBDA a . LAMBDA b . LAMBDA e . toss . agent ( e , b ) AND toss . theme ( e , a )"
    ),
    "Paula": "Paula",
}


@pytest.mark.parametrize(("short", "form"), FORMS.items())
def test_shorten_and_restore(short, form):
    assert TASK.shorten(form) == short.split()
    assert TASK.restore(short.split()) == form


def test_a_full_stop_may_stick_to_the_last_word():
    assert TASK.tokenize("A fox ran.") == TASK.tokenize("A fox ran .") == ["A", "fox", "ran", "."]
    assert TASK.tokenize("fox") == ["fox"]


@given(st.lists(st.sampled_from(["*", "LAMBDA", "fox", "Al", "3", "a", *sorted(RELATIONS)[:3]]), max_size=12))
def test_restoring_keeps_every_token_of_any_sequence(target):
    assert TASK.shorten(TASK.restore(target)) == target


@given(st.text(max_size=40), st.text(max_size=40))
def test_metrics_never_fail(predicted, gold):
    for metric in TASK.metrics.values():
        assert metric(gold, gold) is True
        assert metric(predicted, gold) in (True, False)


def test_order_free_match_ignores_order_only():
    gold = "* a ( x _ 1 ) ; * b ( x _ 4 ) ; c ( x _ 2 ) AND d ( x _ 3 )"
    assert order_free_match("* b ( x _ 4 ) ; * a ( x _ 1 ) ; d ( x _ 3 ) AND c ( x _ 2 )", gold)
    assert not order_free_match("* a ( x _ 1 ) ; * b ( x _ 4 ) ; c ( x _ 3 ) AND d ( x _ 2 )", gold)
    assert not order_free_match("* a ( x _ 1 ) ; c ( x _ 2 ) AND d ( x _ 3 )", gold)
    assert not order_free_match(gold + " AND d ( x _ 3 )", gold)
    assert not TASK.metrics["exact"]("* b ( x _ 4 ) ; * a ( x _ 1 ) ; d ( x _ 3 ) AND c ( x _ 2 )", gold)


@pytest.mark.parametrize(
    ("category", "group"),
    [
        ("obj_pp_to_subj_pp", "OS"),
        ("cp_recursion", "CP"),
        ("pp_recursion", "PP"),
        ("active_to_passive", "Lex"),
        ("in_distribution", "in_distribution"),
        ("primitive", "primitive"),
    ],
)
def test_groups(category, group):
    example = TASK.example("a", "a", category)
    assert TASK.groups(example) == {"group": group, "category": category}
