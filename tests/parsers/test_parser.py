"""The parser a user touches: what it returns, what it refuses, what it survives."""

import contextlib
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from permparse.base.errors import UserError
from permparse.nn import TaggerPrediction
from permparse.parser import Parser
from permparse.permutation import BregmanSolver, Temperature
from permparse.permutation.decoding import round_permutation
from permparse.training.ordering import bounded, multiset_batch
from permparse.base.storage import load_folder, save_folder
from permparse.training.tagging import tag


@pytest.fixture(scope="module")
def parser(tiny_run: Path) -> Parser:
    return Parser.load(tiny_run)


def test_tokens_are_the_multisets_put_in_order(parser: Parser) -> None:
    parse = parser.parse("a b c d e")
    canonical = [token for multiset in parse.multisets for token in multiset]
    assert [canonical[i] for i in parse.order] == list(parse.tokens)
    assert sorted(parse.order) == list(range(len(canonical)))
    where = [i for i, multiset in enumerate(parse.multisets) for _ in multiset]
    assert [where[i] for i in parse.order] == list(parse.source_index)
    assert parse.output == " ".join(parse.tokens)
    assert 0 <= parse.confidence <= 1


def test_a_batch_gives_what_each_sentence_gives_alone(parser: Parser) -> None:
    sentences = ["a b c", "k j i h g f e d c b a", "b", "a b c"]
    together = parser.parse(sentences)
    alone = [parser.parse(sentence) for sentence in sentences]
    assert [p.output for p in together] == [p.output for p in alone]
    assert [p.sentence for p in together] == sentences
    assert [p.score for p in together] == pytest.approx([p.score for p in alone], abs=1e-4)


def test_an_empty_list_gives_an_empty_list(parser: Parser) -> None:
    assert parser.parse([]) == []


def test_saving_and_loading_changes_nothing(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "copy")
    copy = Parser.load(tmp_path / "copy")
    assert copy.parse("a b c d e", n_best=3) == parser.parse("a b c d e", n_best=3)
    assert copy.recipe == parser.recipe


def test_the_checkpoint_holds_only_text_and_safetensors(tiny_run: Path) -> None:
    suffixes = {path.suffix for path in (tiny_run / "parser").iterdir()}
    assert suffixes == {".json", ".toml", ".safetensors"}


def test_alternatives_are_distinct_and_begin_with_the_parse(parser: Parser) -> None:
    parse = parser.parse("a b c d", n_best=5)
    outputs = [alternative.output for alternative in parse.alternatives]
    assert outputs[0] == parse.output
    assert len(set(outputs)) == len(outputs) == 5
    scores = [alternative.log_score for alternative in parse.alternatives[1:]]
    assert scores == sorted(scores, reverse=True)


@torch.no_grad()
def test_the_hungarian_decoder_rounds_the_relaxed_permutation(tiny_run: Path) -> None:
    parser = Parser.load(tiny_run, decoder="hungarian")
    sentences = ["a b c d e", "k j i h g f", "a a b", "c"]
    encoded = [parser.codec.encode(sentence.split()) for sentence in sentences]
    tagged = tag(parser.codec, parser.tagger, encoded)
    solver = BregmanSolver(Temperature(), tolerance=1e-6, max_sweeps=3000)
    expected = []
    for source, t in zip(encoded, tagged, strict=True):
        problem = parser.scorer(multiset_batch([source], [t.multiset], [0]))
        expected += round_permutation(solver.solve(bounded(problem, 50.0, smooth=True)).log_u)
    parses = parser.parse(sentences, n_best=3)
    assert [list(parse.order) for parse in parses] == expected
    assert all(parse.alternatives[0].output == parse.output for parse in parses)
    searched = Parser.load(tiny_run).parse(sentences)
    assert all(a.score <= b.score + 1e-9 for a, b in zip(parses, searched, strict=True))
    assert any(a.order != b.order for a, b in zip(parses, searched, strict=True))


def test_an_unknown_decoder_is_refused_in_words(tiny_run: Path) -> None:
    with pytest.raises(UserError, match="'decoder': input should be 'search' or 'hungarian', got 'magic'"):
        Parser.load(tiny_run, decoder="magic")  # type: ignore[arg-type]


def test_a_parser_saved_before_a_setting_existed_still_loads(parser: Parser, tiny_run: Path, tmp_path: Path) -> None:
    files = load_folder(tiny_run / "parser", "parser")
    later = ("decoder =", "normalise =", "annotation =")
    lines = files["recipe.toml"].decode().splitlines()
    older = [line for line in lines if not line.startswith(later)]
    assert len(lines) - len(older) == len(later)
    save_folder(tmp_path / "old", "parser", {**files, "recipe.toml": "\n".join(older).encode()})
    assert Parser.load(tmp_path / "old").parse("a b c d e") == parser.parse("a b c d e")


def test_an_empty_multiset_gives_an_empty_output(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(source) -> TaggerPrediction:
        batch, size = source.ids.shape
        counts = torch.zeros((batch, size, len(parser.codec.symbols)), dtype=torch.int64)
        return TaggerPrediction(counts, torch.zeros(batch))

    monkeypatch.setattr(parser.tagger, "predict", nothing)
    assert [p.output for p in parser.parse(["a b", "c"])] == ["", ""]


@pytest.mark.parametrize("sentence", ["", "   ", "\t\n"])
def test_an_empty_sentence_is_refused_in_words(parser: Parser, sentence: str) -> None:
    with pytest.raises(UserError, match="empty"):
        parser.parse(sentence)


@pytest.mark.parametrize("sentence", ["qwerty 😀 ΑΒΓ", "a" * 5000, "‏שלום‏", "a\u0301 b", "'\"\\ $(x) [/b]"])
def test_unknown_words_get_a_parse(parser: Parser, sentence: str) -> None:
    parse = parser.parse(sentence)
    assert Counter(t for m in parse.multisets for t in m).total() == len(parse.tokens)


def test_a_sentence_of_a_thousand_words_gets_a_parse(parser: Parser) -> None:
    parse = parser.parse(" ".join("abcdefghijk"[i % 11] for i in range(1000)))
    assert len(parse.words) == 1001


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_in_words(parser: Parser, text: str) -> None:
    with contextlib.suppress(UserError):
        json.loads(parser.parse(text).to_json())


def test_damaged_unfinished_and_foreign_folders_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_run, copy)
    weights = next((copy / "parser").glob("tagger-*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    with pytest.raises(UserError, match="damaged"):
        Parser.load(copy)
    shutil.rmtree(copy / "parser")
    with pytest.raises(UserError, match="has not finished; permparse train --resume"):
        Parser.load(copy)
    with pytest.raises(UserError, match="training state"):
        Parser.load(copy / "stage1")
    with pytest.raises(UserError, match="no such folder"):
        Parser.load(tmp_path / "nowhere")
