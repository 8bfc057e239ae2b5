"""Reranking: the same as comparing all candidates, and the likeliest multiset where nothing else is asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from permparse import Parser
from permparse.nn import MultisetTagger
from permparse.parsers.multiset_permutation.parser import MultisetPermutationParser
from permparse.parsers.multiset_permutation.rerank import IMPOSSIBLE, Reranker
from permparse.text import Trigrams

SENTENCES = ["a b c d e", "k j i h g f", "a a b", "c", "z y x w v u t s r q", "new words", "b c d", "h"]


@pytest.fixture(scope="module")
def reranker(tiny_run: Path) -> Reranker:
    """Of a parser that finds every token beyond the first surprising."""
    parser = Parser.load(tiny_run, candidates=12)
    assert isinstance(parser, MultisetPermutationParser)
    trigrams = Trigrams.count([[f"_{letter}"] for letter in "abcdefghijk"] * 3)
    return replace(parser.reranker, codec=replace(parser.codec, trigrams=trigrams))


def tagged(reranker: Reranker, sentences: list[str] = SENTENCES):
    return reranker.tag([reranker.codec.encode(sentence.split()) for sentence in sentences])


@pytest.mark.parametrize("weight", [0.1, 0.5, 5.0, 100.0])
def test_the_result_is_that_of_comparing_all(reranker: Reranker, weight: float) -> None:
    reranker = replace(reranker, surprise_weight=weight)
    taggings = tagged(reranker)
    for tagging, best in zip(taggings, reranker.best(taggings), strict=True):
        every = reranker.in_order([(tagging.sentence, t) for t in tagging.n_best(reranker.candidates)])
        assert best.score(weight) == pytest.approx(max(c.score(weight) for c in every), abs=1e-4)


def test_a_heavier_weight_leads_to_less_surprising_outputs(reranker: Reranker) -> None:
    taggings = tagged(reranker)
    weighed = [replace(reranker, surprise_weight=weight) for weight in (0.0, 1.0, 100.0)]
    surprise = [sum(c.surprise for c in of.best(taggings)) for of in weighed]
    assert surprise == sorted(surprise, reverse=True)
    assert surprise[-1] < surprise[0]


def test_one_candidate_is_the_likeliest_multiset(reranker: Reranker) -> None:
    taggings = tagged(reranker)
    likeliest = [tagging.best.tokens for tagging in taggings]
    for alone in (replace(reranker, candidates=1), replace(reranker, surprise_weight=0.0)):
        assert [c.tagged.tokens for c in alone.best(taggings)] == likeliest


def test_no_sentence_no_candidate(reranker: Reranker) -> None:
    assert reranker.best(tagged(reranker, [])) == []


def test_candidates_and_alternatives_come_from_one_run_of_the_tagger(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    predict = MultisetTagger.predict
    monkeypatch.setattr(MultisetTagger, "predict", lambda *a: runs.append(1) or predict(*a))
    parser = Parser.load(tiny_run, candidates=12)
    assert len(parser.parse("a b c d", n_best=5).alternatives) == 5
    assert len(runs) == 1


def test_an_all_but_impossible_order_speaks_against_its_tokens(reranker: Reranker) -> None:
    (best,) = reranker.best(tagged(reranker, ["a b c"]))
    for weakest, less in ((0.0, 0.0), (IMPOSSIBLE, 0.0), (IMPOSSIBLE - 20, 20.0)):
        candidate = replace(best, ordered=replace(best.ordered, weakest=weakest))
        expected = candidate.tagged.log_prob - 0.5 * candidate.surprise - less
        assert candidate.score(0.5) == pytest.approx(expected)
        assert candidate.score(0.5) <= candidate.tagged.log_prob
