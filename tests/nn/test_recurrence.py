"""The LSTM recurrence of our own beside torch's: states, gradients, dropout, sentences of every length."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from permparse.nn.recurrence import _Recurrence, _steps_before, packed_states


def packed(lengths, size, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(sum(lengths))
    words = scale * torch.randn(len(lengths), max(lengths), size, generator=generator, dtype=dtype)
    return pack_padded_sequence(words, torch.tensor(lengths), True, enforce_sorted=False)


def with_gradient(of: PackedSequence) -> PackedSequence:
    return PackedSequence(of.data.clone().requires_grad_(), *of[1:])


@pytest.mark.parametrize("lengths", [[1], [4], [3, 3, 3], [1, 5, 2, 5, 1], [7, 6, 2, 1, 1]])
@pytest.mark.parametrize("layers", [1, 2])
def test_states_and_gradients_are_those_of_torch(lengths, layers):
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 4, layers, batch_first=True, bidirectional=True).double()
    ours, theirs = with_gradient(packed(lengths, 6)), with_gradient(packed(lengths, 6))
    found, expected = packed_states(lstm, ours), lstm(theirs)[0]
    torch.testing.assert_close(found.data, expected.data, rtol=1e-10, atol=1e-12)
    weights = torch.randn_like(expected.data)
    (found.data * weights).sum().backward()
    gradients = [p.grad.clone() for p in lstm.parameters()]
    lstm.zero_grad()
    (expected.data * weights).sum().backward()
    torch.testing.assert_close(ours.data.grad, theirs.data.grad, rtol=1e-9, atol=1e-12)
    for gradient, parameter in zip(gradients, lstm.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-9, atol=1e-12)


def test_single_precision_is_as_exact_as_torch():
    torch.manual_seed(0)
    lstm = nn.LSTM(16, 8, 2, batch_first=True, bidirectional=True)
    words = packed([9, 4, 12, 1], 16, torch.float32, scale=3.0)
    exact = nn.LSTM(16, 8, 2, batch_first=True, bidirectional=True).double()
    exact.load_state_dict(lstm.state_dict())
    truth = exact(PackedSequence(words.data.double(), *words[1:]))[0].data
    error = (packed_states(lstm, words).data - truth).abs().max()
    assert error <= 4 * (lstm(words)[0].data - truth).abs().max()


def test_dropout_between_layers_and_nowhere_else():
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 4, 2, batch_first=True, bidirectional=True, dropout=1 - 1e-9).double()
    words = packed([3, 5, 1], 6)
    lower, upper = (nn.LSTM(size, 4, 1, batch_first=True, bidirectional=True).double() for size in (6, 8))
    for layer, alone in enumerate((lower, upper)):
        mine = {name: w for name, w in lstm.named_parameters() if f"_l{layer}" in name}
        alone.load_state_dict({name.replace(f"_l{layer}", "_l0"): w for name, w in mine.items()})
    nothing = PackedSequence(torch.zeros(9, 8, dtype=torch.float64), *words[1:])
    torch.testing.assert_close(packed_states(lstm, words).data, upper(nothing)[0].data)
    lstm.eval()
    torch.testing.assert_close(packed_states(lstm, words).data, upper(lower(words)[0])[0].data)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradient_by_finite_differences(reverse):
    sizes = torch.tensor([3, 3, 1]).numpy()
    steps = torch.arange(3).flip(0).numpy() if reverse else torch.arange(3).numpy()
    given = torch.randn(7, 8, dtype=torch.float64, requires_grad=True)
    w = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    before = _steps_before(sizes, steps)
    assert torch.autograd.gradcheck(lambda given, w: _Recurrence.apply(given, w, before), (given, w))


def test_steps_know_the_ones_before():
    sizes = torch.tensor([3, 2, 2]).numpy()
    assert _steps_before(sizes, torch.tensor([0, 1, 2]).numpy()).tolist() == [[0, 3, 0, 0], [3, 2, 0, 2], [5, 2, 3, 2]]
    assert _steps_before(sizes, torch.tensor([2, 1, 0]).numpy()).tolist() == [[5, 2, 0, 0], [3, 2, 5, 2], [0, 3, 3, 2]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, -1e30])
def test_extreme_inputs_give_what_torch_gives(value):
    torch.manual_seed(0)
    lstm = nn.LSTM(6, 4, 1, batch_first=True, bidirectional=True).double()
    words = packed([4, 2], 6)
    words.data[1, 2] = value
    found, expected = packed_states(lstm, words).data, lstm(words)[0].data
    assert torch.equal(found.isnan(), expected.isnan())
    torch.testing.assert_close(found, expected, equal_nan=True)
