"""Pretrained encoders: equal to Hugging Face's own states, whatever the tokenizer; frozen, half frozen, saved."""

from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="needs the extra `pretrained`: pip install 'permparse[pretrained]'")

from nn.tiny_models import FAMILIES, save_tiny_model
from permparse.base.errors import UserError
from permparse.nn import InputSizes, Sentence, build_encoder, restore_encoder, sentence_batch
from permparse.nn.encoders import _hub as hub
from permparse.nn.encoders.pretrained import PretrainedEncoder, PretrainedSettings

SENTENCES = [["Zeno", "organised", "unbelievable", "meetings"], ["a", "dog"], ["Zürich", "?!", "😀"]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: save_tiny_model(family, tmp_path_factory.mktemp(family)) for family in FAMILIES}


def encoder(folder: Path, trained_layers: int | None = None) -> PretrainedEncoder:
    settings = PretrainedSettings(kind="pretrained", model=str(folder), trained_layers=trained_layers)
    torch.manual_seed(0)
    built = build_encoder(settings, InputSizes(9)).eval()
    assert isinstance(built, PretrainedEncoder)
    return built


def sentences(words: list[list[str]], end: int = 0) -> list[Sentence]:
    return [Sentence(tuple(w), np.arange(len(w) + end) + 3) for w in words]


def by_hand(folder: Path, words: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean states and input embeddings of every word's pieces, straight from Hugging Face."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**found).last_hidden_state[0]
        static = model.get_input_embeddings()(found["input_ids"])[0]
    of_word = np.array([-1 if i is None else i for i in found.word_ids()])
    return tuple(torch.stack([x[of_word == i].mean(0) for i in range(len(words))]) for x in (states, static))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("trained_layers", [None, 0])
def test_states_are_those_of_hugging_face_plus_static_embeddings(folders, family, trained_layers):
    network = encoder(folders[family], trained_layers)
    with torch.no_grad():
        states = network(sentence_batch(sentences(SENTENCES)))
        for b, words in enumerate(SENTENCES):
            contextual, static = by_hand(folders[family], words)
            expected = contextual + network.project(static)
            torch.testing.assert_close(states[b, : len(words)], expected, atol=1e-5, rtol=1e-5)
            assert not states[b, len(words) :].any()


@pytest.mark.parametrize("family", ["roberta", "bert"])
def test_long_sentences_are_read_in_windows_and_empty_ones_have_an_end(folders, family):
    words = [["the", "cat", "sees"] * 40, []]
    network = encoder(folders[family])
    with torch.no_grad():
        states = network(sentence_batch(sentences(words, end=1)))
        assert states.shape == (2, 121, 16)
        assert torch.isfinite(states).all()
        assert states[0].abs().sum(-1).min() > 0
        assert states[1, 0].abs().sum() > 0
        assert network(sentence_batch(sentences([[], []]))).shape == (2, 0, 16)


def test_what_is_frozen_stays_and_is_computed_once(folders, monkeypatch):
    network = encoder(folders["bert"], 0)
    assert not list(network.parameters())
    batch, calls = sentence_batch(sentences(SENTENCES)), []
    of_pieces = network._of_pieces
    monkeypatch.setattr(network, "_of_pieces", lambda pieces: calls.append(1) or of_pieces(pieces))
    first = network(batch)
    network.train()
    assert not torch.equal(network(batch), first)  # dropout
    assert torch.equal(network.eval()(batch), first)
    assert len(calls) == len(SENTENCES)


def test_the_last_layers_alone_can_be_trained(folders):
    network = encoder(folders["mpnet"], 1)
    network(sentence_batch(sentences(SENTENCES))).sum().backward()
    trained = {name for name, p in network.named_parameters() if p.grad is not None and p.requires_grad}
    assert trained
    assert all(name.startswith("model.encoder.layer.2.") for name in trained)
    with pytest.raises(UserError, match="trained_layers = 4: this encoder has only 3"):
        encoder(folders["mpnet"], 4)


def test_contents_are_added_before_dropout_and_of_the_same_size(folders):
    network, batch = encoder(folders["bert"]), sentence_batch(sentences(SENTENCES))
    contents = torch.randn(3, 4, network.contents_size)
    with torch.no_grad():
        difference = network(batch, contents) - network(batch)
    torch.testing.assert_close(difference, contents * batch.mask[..., None], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("trained_layers", [0, 1])
def test_a_saved_encoder_is_the_same_elsewhere(folders, monkeypatch, carried, trained_layers):
    monkeypatch.setattr(hub, "CARRIED", 2**30 if carried else 0)
    network, batch = encoder(folders["roberta"], trained_layers), sentence_batch(sentences(SENTENCES))
    files, weights = network.files(), network.state_dict()
    assert (hub.WEIGHTS in files, hub.REFERENCE in files) == (
        carried and not trained_layers,
        not (carried or trained_layers),
    )
    elsewhere = network.settings
    if carried or trained_layers:
        elsewhere = network.settings.model_copy(update={"model": "/nowhere"})
    again = restore_encoder(elsewhere, InputSizes(9), files, "here").eval()
    again.load_state_dict(weights)
    with torch.no_grad():
        assert torch.equal(again(batch), network(batch))


def test_a_reference_to_another_encoder_is_refused(folders, monkeypatch):
    monkeypatch.setattr(hub, "CARRIED", 0)
    network = encoder(folders["bert"], 0)
    other = network.settings.model_copy(update={"model": str(folders["electra"])})
    with pytest.raises(UserError, match="here: refers to another encoder than"):
        restore_encoder(other, InputSizes(9), network.files(), "here")


def test_an_encoder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=r"encoder\.model = 'nobody/nothing': neither the folder .* give its folder"):
        encoder(Path("nobody/nothing"))
    with pytest.raises(UserError, match="is not set"):
        build_encoder(PretrainedSettings(kind="pretrained"), InputSizes(9))
    monkeypatch.setattr("builtins.__import__", _without_transformers(__import__))
    with pytest.raises(UserError, match=r"pip install 'permparse\[pretrained\]'"):
        encoder(tmp_path)


def _without_transformers(original):
    def importing(name, *rest, **more):
        if name.split(".")[0] == "transformers":
            raise ImportError(name)
        return original(name, *rest, **more)

    return importing


def test_models_are_found_by_name_in_the_folder_of_models(folders, monkeypatch):
    folder = folders["bert"]
    monkeypatch.setenv("PERMPARSE_MODELS", str(folder.parent))
    assert encoder(Path(folder.name)).size == 16
