"""Words that look alike to the networks, and those that do not."""

from permparse.data import Example
from permparse.tasks import get_task
from permparse.training.codec import Codec
from permparse.training.recipe import Data

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
    again = Codec.from_json(codec.to_json(), data)
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
