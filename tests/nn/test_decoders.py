"""Sequence-to-sequence networks: padding equals slicing, steps equal whole outputs, copying is a distribution."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from permparse.nn import Sentence, sentence_batch
from permparse.nn.batches import padded
from permparse.nn.decoders import (
    END_ID,
    START_ID,
    UNKNOWN_ID,
    EncoderDecoder,
    LSTMDecoderSettings,
    SourceBatch,
    TransformerDecoderSettings,
)
from permparse.nn.encoders import InputSizes, WordEncoderSettings
from permparse.nn.encoders.relative import RelativeEncoderSettings

WORDS, TOKENS = 9, 7
ENCODER = {"layers": 2, "hidden_size": 8, "embedding_size": 6}
KINDS = {
    "lstm": (
        WordEncoderSettings(kind="bilstm", **ENCODER),
        LSTMDecoderSettings(hidden_size=8, embedding_size=5),
    ),
    "transformer": (
        RelativeEncoderSettings(kind="relative", heads=2, ff_size=8, **ENCODER),
        TransformerDecoderSettings(layers=2, hidden_size=8, heads=2, ff_size=8),
    ),
}
SOURCES = [[3, 4, 5, 6, 3], [7], [8, 3, 8]]
COPIES = [[3, 8, -1, 7, 3], [-1], [5, 7, 5]]
EXTRA = [2, 0, 1]
TARGETS = [[3, 7, 8, 4, END_ID], [END_ID], [5, 7, END_ID]]


def network(kind: str, copying: bool = True) -> EncoderDecoder:
    torch.manual_seed(0)
    return EncoderDecoder(*KINDS[kind], InputSizes(WORDS), TOKENS, copying).double().eval()


def batch(rows: list[int]) -> SourceBatch:
    sentences = [Sentence(tuple("w" * len(SOURCES[b])), np.array(SOURCES[b])) for b in rows]
    copies = padded([np.array(COPIES[b]) for b in rows], -1)
    return SourceBatch(sentence_batch(sentences), copies, torch.tensor([EXTRA[b] for b in rows]))


def targets(rows: list[int]) -> torch.Tensor:
    return padded([np.array(TARGETS[b]) for b in rows], 0)


@pytest.mark.parametrize("copying", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_equals_slicing(kind: str, copying: bool) -> None:
    model = network(kind, copying)
    together = model.log_probs(model.encode(batch([0, 1, 2])), targets([0, 1, 2]).clamp(max=99 if copying else 6))
    for b in range(3):
        target = targets([b]).clamp(max=99 if copying else 6)
        alone = model.log_probs(model.encode(batch([b])), target)
        torch.testing.assert_close(together[b, : target.shape[1], : alone.shape[2]], alone[0])


@pytest.mark.parametrize("kind", KINDS)
def test_token_by_token_equals_all_at_once(kind: str) -> None:
    model, target = network(kind), targets([0, 1, 2])
    memory = model.encode(batch([0, 1, 2]))
    expected = model.log_probs(memory, target)
    state, previous = model.start(memory), torch.full((3,), START_ID)
    for t in range(target.shape[1]):
        log_probs, state = model.advance(memory, state, previous)
        torch.testing.assert_close(log_probs, expected[:, t])
        previous = target[:, t]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_memory_and_state_are_independent(kind: str) -> None:
    """What a beam does: rows in another order, some repeated."""
    model, index = network(kind), torch.tensor([2, 0, 0])
    memory = model.encode(batch([0, 1, 2]))
    _, state = model.advance(memory, model.start(memory), torch.tensor([3, 4, 5]))
    expected, _ = model.advance(memory, state, torch.tensor([4, 5, 3]))
    found, _ = model.advance(memory.rows(index), state.rows(index), torch.tensor([3, 4, 4]))
    torch.testing.assert_close(found, expected[index])


@pytest.mark.parametrize("copying", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_sum_to_one_over_what_can_be_said(kind: str, copying: bool) -> None:
    model = network(kind, copying)
    log_probs = model.log_probs(model.encode(batch([0, 1, 2])), targets([0, 1, 2]).clamp(max=TOKENS - 1))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3, 5, dtype=torch.float64))
    assert (log_probs[..., [START_ID, UNKNOWN_ID]] == -torch.inf).all()
    if copying:
        offered = torch.tensor([[True, True], [False, False], [True, False]])  # tokens outside the vocabulary
        assert torch.equal((log_probs[:, 0, TOKENS:] > -torch.inf), offered)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copied_token_gets_the_attention_of_every_word_that_offers_it(kind: str) -> None:
    """The mixture by its definition, word by word."""
    model = network(kind)
    memory = model.encode(batch([0]))
    offered = memory.offered
    features = torch.randn(1, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = model.readout(features, offered)[0, 0].exp()
    gate = torch.sigmoid(model.readout.gate(features)).item()
    logits = model.readout.vocabulary(features)[0, 0]
    logits[[START_ID, UNKNOWN_ID]] = -torch.inf
    generated = logits.softmax(0)
    scores = (offered.keys[0] @ features[0, 0]) / 8**0.5
    copyable = [i for i, token in enumerate(COPIES[0]) if token >= 0]
    attention = scores[copyable].softmax(0)
    for token in range(TOKENS + 2):
        copied = sum(a.item() for a, i in zip(attention, copyable, strict=True) if COPIES[0][i] == token)
        expected = (1 - gate) * copied + (gate * generated[token].item() if token < TOKENS else 0.0)
        assert found[token].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_without_anything_to_copy_only_generates(kind: str) -> None:
    with_copying, generated = network(kind), None
    memory = with_copying.encode(batch([1]))
    generated = with_copying.log_probs(memory, targets([1]))
    logits = with_copying.readout.vocabulary(with_copying.decoder.features(memory.attended, torch.tensor([[START_ID]])))
    logits[..., [START_ID, UNKNOWN_ID]] = -torch.inf
    torch.testing.assert_close(generated, logits.log_softmax(-1))


def test_relative_attention_forgets_where_a_sentence_begins() -> None:
    """The same words with the same distances have the same states, wherever they stand."""
    from permparse.nn.relative import RelativeAttention

    torch.manual_seed(0)
    attention = RelativeAttention(8, 2, 0.0).double()
    states = torch.randn(1, 4, 8, dtype=torch.float64)
    key, value = attention.remember(states)
    whole = attention(states, key, value, torch.ones(1, 1, 4, dtype=torch.bool))
    last = attention(states[:, 3:], key, value, torch.ones(1, 1, 4, dtype=torch.bool), first=3)
    torch.testing.assert_close(last, whole[:, 3:])
    seen = torch.tensor([[[False, True, True, True]]])
    later = attention(states[:, 1:], key, value, seen, first=1)
    key, value = attention.remember(states[:, 1:])
    torch.testing.assert_close(later, attention(states[:, 1:], key, value, torch.ones(1, 1, 3, dtype=torch.bool)))
