"""Limits of a parse: too much is refused in words, for the sentence that is too much, and nothing else suffers."""

from pathlib import Path

import pytest

from permparse import Parse, Parser, UserError


def test_only_the_sentence_that_is_too_long_is_refused(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run, max_words=4)
    good, bad, last = parser.parse_each(["a b c", "a b c d e", "b"])
    assert isinstance(good, Parse)
    assert isinstance(last, Parse)
    assert str(bad) == (
        "expected at most 4 words in a sentence (setting max_words), got 5; split the text into sentences"
    )


def test_an_output_of_too_many_tokens_is_refused(tiny_run: Path) -> None:
    whole = Parser.load(tiny_run).parse("a b c d e")
    parser = Parser.load(tiny_run, max_tokens=len(whole.tokens))
    assert parser.parse("a b c d e") == whole
    with pytest.raises(UserError, match=r"at most 1 tokens \(setting max_tokens\)"):
        Parser.load(tiny_run, max_tokens=1).parse("a b c d e")


def test_too_many_alternatives_are_refused(tiny_run: Path) -> None:
    with pytest.raises(UserError, match=r"n_best: expected at most 2 \(setting max_n_best\), got 3"):
        Parser.load(tiny_run, max_n_best=2).parse("a b c", n_best=3)


def test_a_search_of_few_steps_uses_the_same_tokens(tiny_run: Path) -> None:
    whole, hasty = (Parser.load(tiny_run, **limit).parse("a b c d e") for limit in ({}, {"search_steps": 1}))
    assert sorted(hasty.tokens) == sorted(whole.tokens)
    assert hasty.score <= whole.score
