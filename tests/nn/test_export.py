"""Export: the file computes what the tagger computes, for any batch and length, or says why there is none."""

import io
import json
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch

from nn.oracles import PlainEncoder, sentence
from permparse import Parser
from permparse.base.errors import UserError
from permparse.cli import run
from permparse.nn import InputSizes, MultisetTagger, SentenceBatch, TaggerSettings, WordTable, sentence_batch
from permparse.nn.encoders import WordEncoderSettings
from permparse.nn.encoders.relative import RelativeEncoderSettings
from permparse.nn.export import INPUTS, as_onnx, as_pt2, exported_tagger

SIZES = [(1, 1), (1, 4), (5, 13), (2, 140)]
TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def shapes_unchecked():
    """While a network is traced, its sizes are symbols and no numbers."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def small_tagger(kind: str) -> MultisetTagger:
    torch.manual_seed(0)
    settings = RelativeEncoderSettings if kind == "relative" else WordEncoderSettings
    encoder = settings(kind=kind, hidden_size=8, embedding_size=8, layers=1)
    return MultisetTagger(TaggerSettings(encoder=encoder, ff_size=16, max_count=2), InputSizes(12, (5,)), 6).eval()


def random_batch(sentences: int, words: int) -> SentenceBatch:
    chance = np.random.default_rng(0)
    lengths = [words, *chance.integers(1, words + 1, sentences - 1)]
    return sentence_batch([sentence(chance.integers(3, 12, n), chance.integers(0, 5, (n, 1))) for n in lengths])


def tensors(batch: SentenceBatch) -> dict[str, torch.Tensor]:
    return {name: getattr(batch, name) for name in INPUTS}


@pytest.mark.parametrize("kind", ["geometric", "relative"])
def test_the_files_compute_what_the_tagger_computes(kind):
    tagger = small_tagger(kind)
    program = exported_tagger(tagger, 1)
    loaded = torch.export.load(io.BytesIO(as_pt2(program, {}))).module()
    batches = [random_batch(*size) for size in SIZES]
    expected = [tagger.log_probs(batch).detach() for batch in batches]
    for batch, known in zip(batches, expected, strict=True):
        torch.testing.assert_close(loaded(*tensors(batch).values()), known, atol=TOLERANCE, rtol=0)

    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    session = onnxruntime.InferenceSession(as_onnx(program, {"words": "[]"}))
    assert session.get_modelmeta().custom_metadata_map["words"] == "[]"
    for batch, known in zip(batches, expected, strict=True):
        [found] = session.run(["log_probs"], {name: tensor.numpy() for name, tensor in tensors(batch).items()})
        torch.testing.assert_close(torch.from_numpy(found), known, atol=TOLERANCE, rtol=0)


def test_an_encoder_that_cannot_be_exported_says_why():
    with pytest.raises(UserError, match=r"the encoder bilstm cannot be exported: torch.export unrolls an LSTM"):
        exported_tagger(small_tagger("bilstm"), 1)
    tagger = small_tagger("geometric")
    assert isinstance(tagger.encoder, torch.nn.Module)
    tagger.encoder.table = WordTable(["zeno"], torch.zeros(1, 8), lowercase=False)
    with pytest.raises(UserError, match="found by the text of a word"):
        exported_tagger(tagger, 1)


class LookingAtValues(PlainEncoder):
    """An encoder that does one thing or another, depending on the words."""

    def context(self, embedded, mask):
        return embedded if bool(embedded.sum() > 0) else -embedded


def test_an_encoder_of_ones_own_that_torch_cannot_trace_is_reported_in_words():
    encoder = LookingAtValues(WordEncoderSettings(hidden_size=8, embedding_size=8), InputSizes(12))
    tagger = MultisetTagger(TaggerSettings(encoder=encoder.settings, ff_size=16), InputSizes(12), 6, encoder)
    with pytest.raises(UserError, match=r"cannot be exported: torch\.export says"):
        exported_tagger(tagger, 1)


def test_the_command_writes_a_file_that_tells_the_ids_of_words(tmp_path: Path, capsys):
    path, parser = tmp_path / "fragment.pt2", Parser.load("fragment")
    assert run(["export", "fragment", str(path)]) == 0
    assert capsys.readouterr().out.split() == [str(path)]
    facts = {"words": "", "symbols": ""}
    program = torch.export.load(path, extra_files=facts)
    assert json.loads(facts["words"]) == list(parser.codec.words.tokens)
    assert json.loads(facts["symbols"]) == list(parser.codec.symbols.tokens)
    batch = sentence_batch([parser.codec.encode(words) for words in (["Ines", "slept", "."], ["Emil"])])
    known = parser.tagger.log_probs(batch).detach()
    torch.testing.assert_close(program.module()(*tensors(batch).values()), known, atol=TOLERANCE, rtol=0)


def test_the_command_reports_mistakes_in_words(tmp_path: Path, capsys):
    assert run(["export", "fragment", str(tmp_path / "x.pt")]) == 2
    assert "expected a name that ends in .pt2 (torch.export) or .onnx" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
