"""Fine-tuning of Hugging Face encoder–decoders: small random ones, with a tokenizer made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from permparse import Parser, load_recipe, train
from permparse.base.errors import UserError

transformers = pytest.importorskip("transformers", reason="needs pip install 'permparse[pretrained]'")
PAIRS = [(f"see {a} and {b}", f"both({a},{b})") for a in ("ada", "bo", "cy") for b in ("di", "eve", "fay", "gus")]
SMALL: dict[str, Any] = {"vocab_size": 64, "d_model": 16}


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = sorted({w for x, y in PAIRS for w in (*x.split(), "both", "(", ")", ",")})
    vocabulary = {piece: i for i, piece in enumerate(["<pad>", "<s>", "</s>", "<unk>", *words])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


def bart() -> Any:
    layers = {f"{side}_{part}": 1 for side in ("encoder", "decoder") for part in ("layers", "attention_heads")}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    sizes = {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64}
    return transformers.BartForConditionalGeneration(transformers.BartConfig(**SMALL, **layers, **ids, **sizes))


def t5() -> Any:
    sizes = {"d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**SMALL, **sizes, **ids))


@pytest.fixture(scope="module", params=[bart, t5], ids=["bart", "t5"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    torch.manual_seed(0)
    request.param().save_pretrained(folder / "model")
    tokenizer().save_pretrained(folder / "model")
    (folder / "pairs.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in PAIRS))
    settings = [f"data.options.train={str(folder / 'pairs.tsv')!r}", f"model={str(folder / 'model')!r}"]
    length = ["training.epochs=2", "training.batch=4", "training.lr=1e-2", "beam=2"]
    train(load_recipe("tsv", ["parser=seq2seq-pretrained", *settings, *length]), folder / "run", quiet=True)
    return folder / "run"


def test_a_loaded_parser_parses_as_before_and_needs_the_folder_no_more(run: Path, tmp_path: Path) -> None:
    parser = Parser.load(run)
    parser.save(tmp_path / "copy")
    (run.parent / "model").rename(tmp_path / "gone")
    sentences = ["see ada and gus", "see bo and nobody"]
    assert Parser.load(tmp_path / "copy").parse(sentences, n_best=2) == parser.parse(sentences, n_best=2)
    (tmp_path / "gone").rename(run.parent / "model")


def test_outputs_are_put_back_as_they_were_cut(run: Path) -> None:
    parser = Parser.load(run)
    for sentence, output in PAIRS:
        example = parser.task.example(sentence, output)
        source = parser.codec.encode(example.source)
        ids = parser.codec.target(parser.gold_tokens(example))[:-1].tolist()
        assert parser.codec.words.output(parser.codec.output_tokens(ids, source)) == output


def test_token_by_token_equals_all_at_once(run: Path) -> None:
    from permparse.parsers.seq2seq.sources import source_batch

    parser = Parser.load(run)
    network = parser.network
    memory = network.encode(source_batch(parser.sources([["see", "ada", "and", "gus"], ["see"]])))
    target = torch.tensor([[1, 5, 6], [1, 7, 2]])
    expected = network.log_probs(memory, target)
    state, previous = network.start(memory), torch.full((2,), network.start_id)
    for t in range(3):
        log_probs, state = network.advance(memory, state, previous)
        torch.testing.assert_close(log_probs, expected[:, t], rtol=1e-4, atol=1e-5)
        previous = target[:, t]


def test_a_name_that_leads_nowhere_is_refused_in_words(tmp_path: Path) -> None:
    from permparse.parsers.seq2seq.pretrained_network import from_hub

    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no encoder–decoder with safetensors is found there"):
        from_hub(str(tmp_path / "empty"))
