import pytest
import torch

from permparse.nn import PAD, UNK, EncoderConfig, SourceNetwork, build_encoder, source_batch

KINDS = ["geometric", "bilstm", "none"]


def config(kind: str, **changes) -> EncoderConfig:
    settings = {"kind": kind, "layers": 2, "hidden_size": 8, "heads": 2, "embedding_size": 8}
    return EncoderConfig(**(settings | changes))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_equals_slicing(kind):
    torch.manual_seed(0)
    encoder = build_encoder(config(kind)).double().eval()
    embedded = torch.randn(3, 6, 8, dtype=torch.float64)
    lengths = torch.tensor([6, 2, 1])
    states = encoder(embedded, lengths)
    for b, n in enumerate(lengths.tolist()):
        alone = encoder(embedded[b : b + 1, :n], lengths[b : b + 1])
        torch.testing.assert_close(states[b : b + 1, :n], alone, rtol=1e-12, atol=1e-12)
        assert (states[b, n:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_empty_sentences_are_fine(kind):
    encoder = build_encoder(config(kind)).eval()
    assert encoder(torch.zeros(2, 0, 8), torch.tensor([0, 0])).shape == (2, 0, 8)
    mixed = encoder(torch.randn(2, 3, 8), torch.tensor([3, 0]))
    assert torch.isfinite(mixed).all()
    assert (mixed[1] == 0).all()


@pytest.mark.parametrize("kind", ["geometric", "bilstm"])
def test_order_of_words_matters(kind):
    torch.manual_seed(0)
    encoder = build_encoder(config(kind)).eval()
    embedded = torch.randn(1, 5, 8)
    lengths = torch.tensor([5])
    mirrored = encoder(embedded.flip(1), lengths).flip(1)
    assert not torch.allclose(encoder(embedded, lengths), mirrored, atol=1e-3)


def test_heads_must_divide_the_hidden_size():
    with pytest.raises(ValueError, match="heads: expected a divisor of the hidden size 8, got 3"):
        build_encoder(config("geometric", heads=3))


def test_rare_words_are_dropped_as_often_as_their_count_says():
    network = SourceNetwork(config("none", word_dropout=0.0, rare_dropout=2.0), vocabulary_size=6)
    network.count_words(torch.tensor([3] * 2 + [4] * 18 + [5] * 10_000))
    torch.manual_seed(0)
    ids = torch.tensor([PAD, 3, 4, 5]).expand(4000, 4)
    share = (network.drop_words(ids) == UNK).float().mean(0).tolist()
    assert share == pytest.approx([0.0, 0.5, 0.1, 0.0], abs=0.03)
    assert "counts" not in network.state_dict()


def test_word_dropout_replaces_words_in_training_only():
    torch.manual_seed(0)
    network = SourceNetwork(config("none", word_dropout=0.5, dropout=0.0), vocabulary_size=9)
    batch = source_batch([[5] * 200])
    dropped = (network(batch)[0] == network.words.weight[UNK]).all(-1)
    assert 60 < int(dropped.sum()) < 140
    network.eval()
    assert torch.equal(network(batch)[0, 0], network.words.weight[5])


def test_given_vectors_are_used_and_can_be_frozen():
    given = {"embedding_size": 6, "vectors": "glove.txt"}
    network = SourceNetwork(config("none", **given, freeze_vectors=True), 9)
    before, vectors = network.words.weight.clone(), torch.randn(2, 6)
    network.start_from(torch.tensor([7, 3]), vectors)
    assert torch.equal(network.words.weight[[7, 3]], vectors)
    assert torch.equal(network.words.weight[:3], before[:3])
    assert not network.words.weight.requires_grad
    assert SourceNetwork(config("none", **given), 9).words.weight.requires_grad
    assert SourceNetwork(config("none", freeze_vectors=True), 9).words.weight.requires_grad
    with pytest.raises(ValueError, match=r"vectors: expected shape \[1, 6\], got \[2, 6\]"):
        network.start_from(torch.tensor([5]), vectors)


def test_features_are_added_to_the_word():
    network = SourceNetwork(config("none"), 9, feature_sizes=(3,)).eval()
    batch = source_batch([[4, 5], [6]], [torch.tensor([[1], [2]]).numpy(), torch.tensor([[0]]).numpy()])
    assert batch.features is not None
    assert batch.features.shape == (2, 2, 1)
    expected = network.words.weight[5] + network.features[0].weight[2]
    torch.testing.assert_close(network(batch)[0, 1], expected)
    with pytest.raises(ValueError, match="features: expected 1 of every word, got none"):
        network(source_batch([[4, 5]]))


def test_source_batch_pads_with_pad():
    batch = source_batch([[4, 5, 6], [], [7]])
    assert batch.ids.tolist() == [[4, 5, 6], [PAD] * 3, [7, PAD, PAD]]
    assert batch.mask.sum(1).tolist() == batch.lengths.tolist() == [3, 0, 1]
