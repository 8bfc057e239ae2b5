"""A parser with word vectors: what it makes of words it has not seen, and what it keeps of them when saved."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import TINY
from permparse import Parser, UserError, load_recipe, train
from permparse.parsers.multiset_permutation import vectors as module

SETTINGS = [
    *TINY,
    "data.train_examples=40",
    "tagger.training.epochs=1",
    *(f"{network}.encoder.vectors=vectors.txt" for network in ("tagger", "scorer")),
    "scorer.symbol_vectors=vectors.txt",
]
SENTENCES = ["a b z y", "y y c", "a b c"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    given = np.random.default_rng(0).normal(size=(13, 6))
    rows = [f"{word} {' '.join(map(str, row))}" for word, row in zip("abcdefghijkyz", given, strict=True)]
    rows += [f"_{letter} {' '.join(['7'] * 6)}" for letter in "abc"]
    Path("vectors.txt").write_text("\n".join(rows) + "\n")
    return tmp_path / "run"


def moved(run: Path) -> Path:
    """The saved parser in another folder, and no vectors anywhere."""
    elsewhere = run.with_name("elsewhere")
    shutil.move(run / "parser", elsewhere)
    Path("vectors.txt").unlink()
    return elsewhere


def test_a_parser_that_carries_its_vectors_needs_no_file(run: Path) -> None:
    parser = train(load_recipe("doubling", SETTINGS), run, quiet=True)
    expected = parser.parse(SENTENCES)
    assert parser.parse("a z").log_prob != parser.parse("a q").log_prob  # z has a vector, q is unknown
    again = Parser.load(moved(run))
    assert again.parse(SENTENCES) == expected
    assert again.recipe.tagger.encoder.embedding_size == again.recipe.scorer.symbol_size == 6
    again.save(run / "copy")
    assert Parser.load(run / "copy").parse(SENTENCES) == expected


def test_output_tokens_start_from_their_vectors(run: Path) -> None:
    parser = train(load_recipe("doubling", [*SETTINGS, "scorer.training.epochs=0"]), run, quiet=True)
    ids = parser.codec.symbols.ids(["_a", "_b", "_c", "_d"])
    assert torch.equal(parser.scorer.symbols.weight[ids[:3]], torch.full((3, 6), 7.0))
    assert not torch.equal(parser.scorer.symbols.weight[ids[3]], torch.full((6,), 7.0))


def test_a_parser_refers_to_vectors_too_large_to_carry(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CARRIED", 0)
    parser = train(load_recipe("doubling", SETTINGS), run, quiet=True)
    expected = parser.parse(SENTENCES)
    assert Parser.load(run).parse(SENTENCES) == expected
    content = Path("vectors.txt").read_text()
    Path("vectors.txt").write_text(content.replace("7", "8"))
    with pytest.raises(UserError, match="refers to other word vectors than"):
        Parser.load(run)
    elsewhere = moved(run)
    with pytest.raises(UserError, match=r"refers to the word vectors vectors\.txt, which are not here"):
        Parser.load(elsewhere)
    models = run.with_name("models")
    models.mkdir()
    (models / "vectors.txt").write_text(content)
    monkeypatch.setenv("PERMPARSE_MODELS", str(models))
    assert Parser.load(elsewhere).parse(SENTENCES) == expected
