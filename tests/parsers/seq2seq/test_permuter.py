"""The permutation baseline: whatever the network thinks, its output is a permutation of what the tagger found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from permparse import Parser, load_recipe, train

SMALL = [
    "parser=permuter",
    "data.train_examples=60",
    "data.lexicon=copy",
    "tagger.training.epochs=2",
    "tagger.training.batch=8",
    "training.epochs=1",
    "training.batch=8",
    *(f"{part}.{key}" for part in ("encoder", "tagger.encoder") for key in ("hidden_size=16", "embedding_size=16")),
    "encoder.layers=1",
    "decoder.layers=1",
    "decoder.hidden_size=16",
    "decoder.heads=2",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("permuter") / "run"
    train(load_recipe("doubling", SMALL), folder, quiet=True)
    return folder


def test_every_output_is_a_permutation_of_the_tagged_multiset(run: Path) -> None:
    from permparse.parsers.multiset_permutation.tag import tag

    parser = Parser.load(run)
    sentences = ["a b c d e f", "k k k", "j", "z unknown a"]
    words = [sentence.split() for sentence in sentences]
    tagged = tag(parser.codec.words, parser.tagger, [parser.codec.words.encode(w) for w in words])
    parses = parser.parse(sentences, n_best=3)
    for parse, tagging in zip(parses, tagged, strict=True):
        wanted = Counter(tagging.best.tokens)
        assert Counter(parser.compared(parse.tokens)) == wanted
        assert all(Counter(parser.compared(a.tokens)) == wanted for a in parse.alternatives)


def test_a_loaded_parser_parses_as_the_trained_one(run: Path, tmp_path: Path) -> None:
    parser = Parser.load(run)
    parser.save(tmp_path / "copy")
    assert Parser.load(tmp_path / "copy").parse("a b c d e") == parser.parse("a b c d e")
