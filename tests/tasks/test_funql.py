"""Queries parse to trees, equal up to the order of conjuncts; nonsense is wrong and breaks nothing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from permparse.tasks import get_task
from permparse.tasks.funql import VARIADIC, Tree, parse, tokens, tree_match, widest

QUERY = (
    "answer _flight ( intersection _from_2 city_name a _to_2 city_name b "
    "( or _day_2 day monday ( intersection _day_2 day friday _nonstop all ) ) )"
)


def shuffled(tree: Tree, source: random.Random) -> Tree:
    """The same query with the children of every `intersection` and `or` in another order."""
    children = [shuffled(child, source) for child in tree.children]
    if tree.label in VARIADIC:
        source.shuffle(children)
    return Tree(tree.label, tuple(children))


def text(tree: Tree) -> str:
    return " ".join(tokens(tree))


def test_a_query_is_a_tree_and_back():
    tree = parse(QUERY.split())
    assert text(tree) == QUERY
    assert widest(tree) == 3
    assert [child.label for child in tree.children[0].children[0].children] == ["_from_2", "_to_2", "or"]


def test_order_of_conjuncts_does_not_matter():
    source = random.Random(0)
    copies = {text(shuffled(parse(QUERY.split()), source)) for _ in range(50)}
    assert len(copies) > 5
    assert all(tree_match(copy, QUERY) for copy in copies)


def test_order_of_arguments_matters():
    assert not tree_match(
        "answer _equals airport_code a airport_code b", "answer _equals airport_code b airport_code a"
    )


def test_conjuncts_are_counted():
    assert not tree_match("( or a a b )", "( or a b b )")
    assert not tree_match("( or a b )", "( or a b b )")
    assert not tree_match("( or a b )", "( intersection a b )")


@pytest.mark.parametrize(
    "query",
    [
        *("", "answer", "( intersection )", "( intersection a", "a )", "( a )", "intersection a b", "a b"),
        *("_services a", "answer ( or a ) )", "( ( or a ) )", ") a (", "answer answer", "a ( or b )"),
    ],
)
def test_ill_formed_queries_match_nothing(query):
    assert parse(query.split()) is None
    assert not tree_match(query, query)


@given(st.lists(st.sampled_from(["(", ")", "intersection", "or", "answer", "_services", "a", "b"]), max_size=14))
def test_what_parses_can_be_written_again(query):
    tree = parse(query)
    if tree is not None:
        assert list(tokens(tree)) == query


@pytest.mark.parametrize("query", ["answer " * 50_000 + "a", "( or " * 50_000 + "a" + " )" * 50_000, "( or " * 50_000])
def test_depth_is_no_limit(query):
    assert tree_match(query, query) is (not query.endswith("or "))


def test_groups_count_conjuncts():
    task = get_task("atis-length")
    assert task.groups(task.example("", QUERY)) == {"conjuncts": "3"}
    assert task.groups(task.example("", "answer")) == {"conjuncts": "ill-formed"}


def test_source_tokens_are_cut_as_spacy_does():
    pytest.importorskip("spacy")
    task = get_task("atis-iid", clock=False)
    assert " ".join(task.tokenize("i'd like  st. louis at 5pm")) == "i 'd like st . louis at 5 pm"
    assert task.tokenize("To Boston?") == ["to", "boston"]
