"""The choice among likely multisets: the same as comparing all, and the likeliest where nothing else is asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from permparse.data import Trigrams
from permparse.parser import Parser
from permparse.training.choice import Chooser
from permparse.training.tagging import tag, tag_n_best

SENTENCES = ["a b c d e", "k j i h g f", "a a b", "c", "z y x w v u t s r q", "new words", "b c d", "h"]


@pytest.fixture(scope="module")
def chooser(tiny_run: Path) -> Chooser:
    """Of a parser that finds every token beyond the first surprising."""
    chooser = Parser.load(tiny_run, candidates=12).chooser
    trigrams = Trigrams.count([[f"_{letter}"] for letter in "abcdefghijk"] * 3)
    return replace(chooser, codec=replace(chooser.codec, trigrams=trigrams))


@pytest.mark.parametrize("weight", [0.1, 0.5, 5.0, 100.0])
def test_the_choice_is_that_of_comparing_all(chooser: Chooser, weight: float) -> None:
    chooser = replace(chooser, weight=weight)
    sources = [chooser.codec.encode(sentence.split()) for sentence in SENTENCES]
    for source, chosen in zip(sources, chooser.choose(sources), strict=True):
        tagged = tag_n_best(chooser.codec, chooser.tagger, [source], chooser.candidates)[0]
        every = chooser.in_order([source] * len(tagged), tagged)
        assert chosen.score(weight) == pytest.approx(max(c.score(weight) for c in every), abs=1e-4)


def test_a_heavier_weight_leads_to_less_surprising_outputs(chooser: Chooser) -> None:
    sources = [chooser.codec.encode(sentence.split()) for sentence in SENTENCES]
    surprise = [sum(c.surprise for c in replace(chooser, weight=w).choose(sources)) for w in (0.0, 1.0, 100.0)]
    assert surprise == sorted(surprise, reverse=True)
    assert surprise[-1] < surprise[0]


def test_one_candidate_is_the_likeliest_multiset(chooser: Chooser) -> None:
    sources = [chooser.codec.encode(sentence.split()) for sentence in SENTENCES]
    likeliest = [t.tokens for t in tag(chooser.codec, chooser.tagger, sources)]
    for alone in (replace(chooser, candidates=1), replace(chooser, weight=0.0)):
        assert [c.tagged.tokens for c in alone.choose(sources)] == likeliest


def test_no_sentence_no_choice(chooser: Chooser) -> None:
    assert chooser.choose([]) == []
