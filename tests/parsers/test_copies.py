"""K from the data: as many copies of a token for one word as training outputs need."""

from permparse import load_recipe
from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.multiset_permutation.copies import MOST, USUAL, needed_copies
from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.parsers.multiset_permutation.recipe import MultisetPermutationRecipe
from permparse.tasks import get_task
from permparse.text import Example


def needed(pairs: list[tuple[str, str]], **settings: object) -> int:
    """K for these pairs of input and output."""
    task = get_task("tsv", train="unused.tsv", end_token=False)
    examples = [task.example(source, output) for source, output in pairs]
    recipe = load_recipe("tsv", ["data.options.train=unused.tsv"])
    return needed_copies(Codec.build(task, examples, recipe.data), examples)


def test_one_word_may_have_to_say_many() -> None:
    """*thrice around* is sixteen turns in some languages of commands."""
    assert needed([("jump around", " ".join(["LEFT", "JUMP"] * 9)), ("walk", "WALK")]) == 9


def test_tokens_that_recur_little_need_little() -> None:
    assert needed([("a b", "X Y"), ("c", "Z")]) == 2
    assert needed([("a b", "X X X Y"), ("c", "Z")]) <= USUAL


def test_there_is_a_limit() -> None:
    assert needed([("jump", " ".join(["JUMP"] * 200))]) == MOST


def test_a_parser_is_built_with_what_its_examples_need() -> None:
    task = get_task("tsv", train="unused.tsv")
    recipe = load_recipe("tsv", ["data.options.train=unused.tsv", "tagger.max_count=0"])
    assert isinstance(recipe, MultisetPermutationRecipe)
    examples: list[Example] = [task.example("jump around", " ".join(["LEFT", "JUMP"] * 30))] * 3
    parser = MultisetPermutationParser.build(recipe, task, examples)
    assert parser.recipe.tagger.max_count == 10
