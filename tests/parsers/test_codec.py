"""Words that look alike to the networks, and those that do not."""

import numpy as np

from permparse.parsers.multiset_permutation.codec import Codec
from permparse.parsers.recipe import Data
from permparse.tasks import get_task
from permparse.text import Example

EXAMPLES = [
    Example(tuple(sentence.split()), (), "", sentence, None, line)
    for line, sentence in enumerate(["Al saw the cat .", "The cat saw Bo .", "A cat ran 3 miles ."])
]


def test_names_share_an_entry_where_the_recipe_says_so():
    data = Data(lowercase=True, share_names=True)
    codec = Codec.build(get_task("cogs"), EXAMPLES, data)
    first, unseen = codec.encode(("Al", "saw", "Bo", ".")), codec.encode(("Zoe", "saw", "The", "."))
    assert first.ids[0] == first.ids[2] == unseen.ids[0] != codec.words.id("<unk>")
    assert unseen.ids[2] == codec.words.id("the")
    assert first.lexical[0] == "Al"
    again = Codec.from_json(codec.to_json(), codec.task)
    assert (again.encode(("Zoe",)).ids == unseen.ids[:1]).all()


def test_names_are_told_apart_otherwise():
    codec = Codec.build(get_task("cogs"), EXAMPLES, Data(lowercase=True))
    source = codec.encode(("Al", "saw", "Bo", "Zoe", "."))
    assert len(set(source.ids[[0, 2, 3]].tolist())) == 3
    assert source.features[:, 0].tolist() == [2, 1, 2, 2, 4]


def test_a_pattern_keeps_what_no_word_stands_for():
    examples = [Example(("Al", "ran"), ("run", "0"), "", "Al ran", None, 1)]
    codec = Codec.build(get_task("cogs", items=False), examples, Data(lexicon="copy"))
    source = codec.encode(("Bo", "ran"))
    assert codec.pattern(["run", ".agent", "1", "Bo", "7"], source) == ["run", ".agent", "<var>", "<lex>", "7"]


def test_the_multiset_of_a_parse_is_the_one_it_came_from():
    examples = [Example(("Al", "ran"), ("run", ".agent", "0", "Al"), "", "Al ran", None, 1)]
    codec = Codec.build(get_task("cogs", items=False), examples, Data(lexicon="copy"))
    sentence = codec.encode(("Bo", "ran", "Bo"))
    counts = np.zeros((3, len(codec.symbols)), dtype=np.int64)
    counts[0, codec.symbols.id("<lex>")], counts[2, codec.symbols.id("<var>")] = 2, 1
    counts[1, codec.symbols.id("run")], counts[2, codec.symbols.id(".agent")] = 1, 3
    multiset = codec.multiset(counts, sentence)
    tokens = codec.tokens(multiset, sentence)
    assert tokens == ["Bo", "Bo", "run", "2", ".agent", ".agent", ".agent"]
    again = codec.multiset_of([tokens[:2], tokens[2:3], tokens[3:]], sentence)
    assert (again.symbols == multiset.symbols).all()
    assert (again.source_index == multiset.source_index).all()


def test_what_nothing_stands_behind_is_no_token():
    codec = Codec.build(get_task("doubling"), EXAMPLES, Data(lexicon="none"))
    sentence = codec.encode(("a", "b"))
    counts = np.ones((len(sentence), len(codec.symbols)), dtype=np.int64)
    assert len(codec.multiset(counts, sentence)) == len(sentence) * (len(codec.symbols) - 2)
    assert (counts == 1).all()
