"""Encoders: padding, empty sentences, dropped words, given vectors, and kinds from elsewhere."""

import numpy as np
import pytest
import torch

from nn.oracles import PlainEncoder, sentence
from permparse.base.errors import UserError
from permparse.nn import PAD, UNK, InputSizes, Sentence, WordTable, build_encoder, sentence_batch
from permparse.nn.encoders import WordEncoderSettings

KINDS = ["geometric", "bilstm"]


def settings(kind: str = "geometric", **changes) -> WordEncoderSettings:
    return WordEncoderSettings(**({"kind": kind, "layers": 2, "hidden_size": 8, "embedding_size": 8} | changes))


def encoder(kind: str = "geometric", words: int = 12, features: tuple[int, ...] = (), **changes):
    torch.manual_seed(0)
    return build_encoder(settings(kind, **changes), InputSizes(words, features)).double().eval()


def plain(words: int = 9, features: tuple[int, ...] = (), **changes) -> PlainEncoder:
    torch.manual_seed(0)
    return PlainEncoder(settings(**changes), InputSizes(words, features))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("embedding_size", [8, 6])
def test_padding_equals_slicing(kind, embedding_size):
    network = encoder(kind, embedding_size=embedding_size)
    sentences = [sentence(ids) for ids in ([4, 5, 6, 7, 8, 9], [10, 11], [3])]
    states = network(sentence_batch(sentences))
    for b, alone in enumerate(sentences):
        expected = network(sentence_batch([alone]))
        torch.testing.assert_close(states[b : b + 1, : len(alone)], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_empty_sentences_are_fine(kind):
    network = encoder(kind)
    assert network(sentence_batch([sentence([]), sentence([])])).shape == (2, 0, 8)
    assert torch.isfinite(network(sentence_batch([sentence([4, 5, 6]), sentence([])]))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_words_matters(kind):
    network, ids = encoder(kind), [4, 5, 6, 7, 8]
    forwards, backwards = (network(sentence_batch([sentence(x)])) for x in (ids, ids[::-1]))
    assert not torch.allclose(forwards, backwards.flip(1), atol=1e-3)


def test_the_hidden_size_must_suit_the_heads():
    with pytest.raises(ValueError, match="hidden_size: expected a multiple of the 4 attention heads, got 6"):
        encoder("geometric", hidden_size=6)


def test_rare_words_are_dropped_as_often_as_their_count_says():
    network = plain(6, word_dropout=0.0, rare_dropout=2.0)
    network.count_words(torch.tensor([3] * 2 + [4] * 18 + [5] * 10_000))
    torch.manual_seed(0)
    ids = torch.tensor([PAD, 3, 4, 5]).expand(4000, 4)
    share = (network.drop_words(ids) == UNK).float().mean(0).tolist()
    assert share == pytest.approx([0.0, 0.5, 0.1, 0.0], abs=0.03)
    assert "counts" not in network.state_dict()


def test_word_dropout_replaces_words_in_training_only():
    network = plain(word_dropout=0.5, dropout=0.0)
    batch = sentence_batch([sentence([5] * 200)])
    dropped = (network(batch)[0] == network.words.weight[UNK]).all(-1)
    assert 60 < int(dropped.sum()) < 140
    network.eval()
    assert torch.equal(network(batch)[0, 0], network.words.weight[5])


def test_given_vectors_are_used_and_can_be_frozen():
    network = plain(embedding_size=6, hidden_size=6, vectors="glove.txt", freeze_vectors=True)
    before, vectors = network.words.weight.clone(), torch.randn(2, 6)
    given = torch.tensor([7, 3])
    network.start_from(given, vectors)
    network.mark_given(given)
    assert torch.equal(network.words.weight[[7, 3]], vectors)
    torch.testing.assert_close(network.words.weight[:3], before[:3] * vectors.std(correction=0) / 0.1)
    network(sentence_batch([sentence([7, 3, 5])])).sum().backward()
    gradient = network.words.weight.grad
    assert gradient is not None
    assert not gradient[[7, 3]].any()
    assert gradient[5].any()
    with pytest.raises(ValueError, match=r"vectors: expected shape \[2, 6\], got \[2, 5\]"):
        network.start_from(torch.tensor([5, 3]), vectors[:, :5])


def test_an_unseen_word_has_the_vector_of_the_table():
    network = plain(word_dropout=0.0).eval()
    network.table = WordTable(["zeno", "rome"], torch.randn(2, 8), lowercase=True)
    batch = sentence_batch(
        [Sentence(("Zeno", "sees", "it"), np.array([UNK, 4, UNK])), Sentence(("Rome", "now"), np.array([6, UNK]))]
    )
    states = network(batch)
    torch.testing.assert_close(states[0, 0], network.table.matrix[0])
    for b, i, known in ((0, 1, 4), (0, 2, UNK), (1, 0, 6), (1, 1, UNK)):
        torch.testing.assert_close(states[b, i], network.words.weight[known])
    assert "Zeno" in network.table
    assert not any(name.startswith("table") for name in network.state_dict())


def test_a_word_that_dropout_makes_unknown_has_no_vector():
    network = plain(word_dropout=0.5, dropout=0.0)
    network.table = WordTable([f"word{i}" for i in range(9)], torch.randn(9, 8), lowercase=False)
    states = network(sentence_batch([sentence([5] * 200)]))[0]
    unknown = (states == network.words.weight[UNK]).all(-1)
    assert 60 < int(unknown.sum()) < 140
    assert torch.equal(states[~unknown][0], network.words.weight[5])


def test_features_and_contents_are_added_to_the_word():
    network = plain(features=(3,)).eval()
    batch = sentence_batch([sentence([4, 5], np.array([[1], [2]])), sentence([6], np.array([[0]]))])
    assert batch.features is not None
    assert batch.features.shape == (2, 2, 1)
    contents = torch.randn(2, 2, 8)
    expected = network.words.weight[5] + network.features[0].weight[2]
    torch.testing.assert_close(network(batch)[0, 1], expected)
    torch.testing.assert_close(network(batch, contents)[0, 1], expected + contents[0, 1])
    with pytest.raises(ValueError, match="features: expected 1 of every word, got none"):
        network(sentence_batch([sentence([4, 5])]))


def test_a_batch_is_padded_and_keeps_its_words():
    batch = sentence_batch([sentence([4, 5, 6]), sentence([]), sentence([7])])
    assert batch.ids.tolist() == [[4, 5, 6], [PAD] * 3, [7, PAD, PAD]]
    assert batch.mask.sum(1).tolist() == batch.lengths.tolist() == [3, 0, 1]
    assert batch.words == (("word4", "word5", "word6"), (), ("word7",))
    assert batch.to("meta").device.type == "meta"


def test_an_unknown_kind_is_refused_in_words():
    with pytest.raises(UserError, match="no encoder is called 'bilstn'; did you mean 'bilstm'"):
        build_encoder(settings("bilstn"), InputSizes(9))
