"""Words that say a token are found by numbers."""

import random

from nested_calls import commands
from permparse.text.counting import count_speakers
from permparse.text.notation.evidence import words
from permparse.text.notation.learn import learn
from permparse.text.notation.pieces import learn_pieces


def test_a_word_says_a_token_if_there_are_as_many_of_both() -> None:
    """The full stop and the dash stand in the same sentences as the token, in other numbers."""
    chance = random.Random(0)
    sources, targets = [], []
    for _ in range(100):
        n = chance.randint(0, 3)
        sources.append(["do"] * n + ["-"] * (n + 1) + ["."])
        targets.append(["all"] * n + ["end"])
    assert count_speakers(sources, targets) == {"all": {"do"}, "end": {"."}}


def test_several_words_may_say_a_token_together() -> None:
    chance = random.Random(0)
    sources = [chance.choices(["and", ",", "x", "y"], k=5) for _ in range(200)]
    targets = [["sep"] * sum(word in ("and", ",") for word in source) for source in sources]
    assert count_speakers(sources, targets)["sep"] == {"and", ","}


def test_no_word_says_a_token_that_comes_by_chance() -> None:
    chance = random.Random(0)
    sources = [chance.choices("abcde", k=4) for _ in range(200)]
    targets = [chance.choices(["t", "u"], k=3) for _ in range(200)]
    assert count_speakers(sources, targets) == {}
    assert count_speakers([], []) == {}


def test_of_words_that_say_it_equally_well_the_nearest_is_taken() -> None:
    """In nested commands `do` says the call, `done` its end, and the comma and `and` the separator of goods."""
    pairs = commands(1, 600, [0, 1, 2])
    pieces = learn_pieces([(words(sentence), output) for sentence, output in pairs.items()])
    sources = [words(sentence) for sentence in pairs]
    cut = [pieces.cut(output) for output in pairs.values()]
    notation = learn(list(zip(sources, cut, strict=True)), name_ends=True)
    found = count_speakers(sources, [notation.shorten(tokens) for tokens in cut])
    assert (found["all"], found["all…)"], found["buy…,"]) == ({"do"}, {"done"}, {",", "and"})
