"""On all of the paper's data outputs are restored exactly and equal themselves. Needs PERMPARSE_DATA."""

import random

import pytest

from permparse.tasks import build_lexicon, get_task
from permparse.tasks.funql import VARIADIC, Tree, parse, tokens
from permparse.text import is_variable

pytestmark = pytest.mark.data
TASKS = ("doubling", "cogs", "atis-iid", "atis-length", "okapi-calendar", "okapi-document", "okapi-email")
SIZES = {
    "doubling": (4000, 500, 200, 1000),
    "cogs": (24155, 3000, 3000, 21000),
    "atis-iid": (4465, 497, 448),
    "atis-length": (4017, 942, 331),
    "okapi-calendar": (1145, 200, 1061),
    "okapi-document": (2328, 412, 514),
    "okapi-email": (2343, 200, 991),
}


@pytest.mark.parametrize("name", TASKS)
def test_every_output_is_restored_exactly_and_right(name, paper_data):
    task = get_task(name)
    sizes = []
    for split in task.splits:
        examples = task.load(split, paper_data)
        sizes.append(len(examples))
        for example in examples:
            assert task.restore(example.target) == example.output
            assert all(metric(example.output, example.output) for metric in task.metrics.values())
            assert task.groups(example)
            if task.variables:
                assert all(int(y) < len(example.source) for y in example.target if is_variable(y))
    assert tuple(sizes) == SIZES[name]


def shuffled(tree: Tree, source: random.Random) -> Tree:
    children = [shuffled(child, source) for child in tree.children]
    if tree.label in VARIADIC:
        source.shuffle(children)
    return Tree(tree.label, tuple(children))


@pytest.mark.parametrize("name", ["atis-iid", "atis-length"])
def test_every_query_equals_a_shuffled_copy_of_itself(name, paper_data):
    task, source, changed = get_task(name), random.Random(0), 0
    for split in task.splits:
        for example in task.load(split, paper_data):
            tree = parse(example.output.split())
            assert tree is not None
            copy = " ".join(tokens(shuffled(tree, source)))
            changed += copy != example.output
            assert task.metrics["tree"](copy, example.output)
    assert changed > 1000


def test_cogs_generalisation_has_three_structural_groups_and_the_lexical_one(paper_data):
    task = get_task("cogs")
    groups = [task.groups(example)["group"] for example in task.load("gen", paper_data)]
    assert {group: groups.count(group) for group in set(groups)} == {
        "OS": 1000,
        "CP": 1000,
        "PP": 1000,
        "Lex": 18000,
    }


def test_the_cogs_lexicon_is_that_of_english(paper_data):
    task = get_task("cogs")
    lexicon = build_lexicon("induced", task, task.load("train", paper_data))
    expected = {
        "ate": "eat",
        "eaten": "eat",
        "seen": "see",
        "Emma": "Emma",
        "hedgehog": "hedgehog",
        "TV": "tv",
    }
    assert {word: lexicon.lookup(word) for word in expected} == expected
    function_words = {word for word in ("a", "the", "was", "by", "to", "that", "in") if word in lexicon.entries}
    assert function_words == set()


@pytest.mark.parametrize(
    ("name", "split", "share"),
    [
        ("cogs", "gen", 1.0),
        ("okapi-calendar", "test", 0.97),
        ("okapi-document", "test", 0.97),
        ("okapi-email", "test", 0.93),
    ],
)
def test_outputs_can_be_produced_from_training_and_copying(name, split, share, paper_data):
    """Every token is a training type, a variable, or what the lexicon makes of a word of the sentence."""
    task = get_task(name)
    train = task.load("train", paper_data)
    lexicon = build_lexicon("induced", task, train)
    known = {lexicon.canonical(y) for example in train for y in example.target}
    examples = task.load(split, paper_data)
    possible = 0
    for example in examples:
        made = known | {lexicon.lookup(x) for x in example.source}
        possible += all(lexicon.canonical(y) in made or (task.variables and is_variable(y)) for y in example.target)
    assert possible / len(examples) >= share
