"""COGS forms are shortened and restored exactly; the order-free metric ignores order and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.tasks.cogs import RELATIONS, in_order, order_free_match
from permparse.tasks.cogs_structure import structure

TASK = get_task("cogs")
AS_IT_IS = get_task("cogs", items=False)

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
    assert AS_IT_IS.shorten(form) == short.split()
    assert AS_IT_IS.restore(short.split()) == form
    assert TASK.restore(TASK.shorten(form)) == form


def test_a_full_stop_may_stick_to_the_last_word():
    assert TASK.tokenize("A fox ran.") == TASK.tokenize("A fox ran .") == ["A", "fox", "ran", "."]
    assert TASK.tokenize("fox") == ["fox"]


@given(st.lists(st.sampled_from(["*", "LAMBDA", "fox", "Al", "3", "a", *sorted(RELATIONS)[:3]]), max_size=12))
def test_restoring_keeps_every_token_of_any_sequence(target):
    assert AS_IT_IS.shorten(AS_IT_IS.restore(target)) == target
    assert sorted(in_order(target)) == sorted(target)


def test_conjuncts_are_put_into_the_order_of_their_variables():
    mixed = "run .agent 4 1 * fox 5 fox 1 * car 2 fox .nmod .in 1 5"
    assert in_order(mixed.split()) == [
        "*",
        "car",
        "2",
        "*",
        "fox",
        "5",
        "fox",
        "1",
        "fox",
        ".nmod",
        ".in",
        "1",
        "5",
        "run",
        ".agent",
        "4",
        "1",
    ]
    assert in_order(["LAMBDA", "a", "fox", "a"]) == ["LAMBDA", "a", "fox", "a"]


@pytest.mark.parametrize(
    ("sentence", "form", "found"),
    [
        ("Al saw a cat in a hat .", "see .agent 1 Al see .theme 1 3 cat 3 cat .nmod .in 3 6 hat 6", None),
        ("Al gave a cat in a hat to Bo .", "cat .nmod .in 3 6", "PP before to"),
        ("Al saw a cat in a hat on a mat .", "cat .nmod .in 3 6 hat .nmod .on 6 9", "nested PP"),
        ("Al said that Bo said that Cy ran .", "say .ccomp 1 4 say .ccomp 4 7", "nested CP"),
        ("A cat was seen in a hat by Bo .", "cat .nmod .in 1 6", None),
        ("Al gave Bo a cat .", "give .agent 1 Al give .recipient 1 Bo give .theme 1 4", "name behind verb"),
        ("Al gave a cat to Bo .", "give .agent 1 Al give .theme 1 3 give .recipient 1 Bo", None),
        ("Al said that Bo ran .", "say .agent 1 Al say .ccomp 1 4", None),
    ],
)
def test_structures_to_hold_out_are_found(sentence, form, found):
    assert structure(sentence.split(), form.split()) == found


@given(st.text(max_size=40), st.text(max_size=40))
def test_metrics_never_fail(predicted, gold):
    for metric in TASK.metrics.values():
        assert metric(gold, gold) is True
        assert metric(predicted, gold) in (True, False)


def test_order_free_match_compares_sets():
    gold = "* a ( x _ 1 ) ; * b ( x _ 4 ) ; c ( x _ 2 ) AND d ( x _ 3 )"
    assert order_free_match("* b ( x _ 4 ) ; * a ( x _ 1 ) ; d ( x _ 3 ) AND c ( x _ 2 )", gold)
    assert not order_free_match("* a ( x _ 1 ) ; * b ( x _ 4 ) ; c ( x _ 3 ) AND d ( x _ 2 )", gold)
    assert not order_free_match("* a ( x _ 1 ) ; c ( x _ 2 ) AND d ( x _ 3 )", gold)
    assert order_free_match(gold + " AND d ( x _ 3 )", gold)  # sets, as the paper compares them
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
