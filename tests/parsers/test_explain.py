"""Explanations: the probabilities are those the parse was made from, and doubts point at real weaknesses."""

import math

import pytest

from permparse import Parser
from permparse.parsers.explanation import Explanation

SENTENCE = "Zeno said that Ines gave a bell to Dora ."


@pytest.fixture(scope="module")
def box() -> Parser:
    return Parser.load("fragment")


def _explained(parser: Parser, sentence: str) -> Explanation:
    found = parser.explain(parser.parse(sentence))
    assert found is not None
    return found


def test_the_probabilities_are_those_of_the_parse(box: Parser) -> None:
    parse, found = box.parse(SENTENCE), _explained(box, SENTENCE)
    assert math.prod(found.step_probs) == pytest.approx(math.exp(parse.order_log_prob), abs=2e-3)
    assert math.prod(found.word_probs) == pytest.approx(math.exp(parse.log_prob), abs=2e-3)


def test_u_is_doubly_stochastic_and_the_marginals_leave_every_token_but_the_last(box: Parser) -> None:
    found = _explained(box, SENTENCE)
    n = len(found.u)
    assert found.converged
    for rows in (found.u, tuple(zip(*found.u, strict=True))):
        assert all(sum(row) == pytest.approx(1, abs=5e-3) for row in rows)
    assert sum(map(sum, found.jump_marginals)) == pytest.approx(n - 1, abs=2e-2)


def test_a_familiar_sentence_raises_no_doubt_and_a_strange_one_says_where(box: Parser) -> None:
    assert _explained(box, "the nurse slept .").doubts == ()
    doubts = _explained(box, "the glorp of a cat slept .").doubts
    assert {(doubt.kind, doubt.at) for doubt in doubts} >= {("unknown", 1), ("unknown", 2), ("unknown", 4)}
    assert any("glorp" in doubt.message for doubt in doubts)


def test_many_tokens_are_explained_without_matrices(box: Parser) -> None:
    parse = box.parse("Hugo said that " * 30 + "Ines slept .")
    found = box.explain(parse)
    assert found is not None
    assert len(found.step_probs) == len(parse.tokens) + 1 > 82
    assert found.u == ()


def test_an_output_without_tokens_is_explained(box: Parser) -> None:
    parse = box.parse(".")
    assert parse.tokens == ()
    assert box.explain(parse).step_probs == ()


def test_a_parser_that_tags_with_an_end_token_is_explained(tiny_run) -> None:
    parser = Parser.load(tiny_run)
    parse = parser.parse("a b c d e")
    found = parser.explain(parse)
    assert len(found.word_probs) == len(parse.words) == 6
