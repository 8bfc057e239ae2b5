"""Dropout by hashing: rate, scale, independence, and gradients that see what the values saw."""

import pytest
import torch
from torch import nn

from permparse.nn.dropout import Dropout, dropout


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9])
def test_each_element_is_dropped_with_its_chance(p):
    torch.manual_seed(0)
    found = dropout(torch.ones(1000, 400), p)
    kept = found != 0
    assert torch.allclose(found[kept], torch.tensor(1 / (1 - p)))
    deviation = (p * (1 - p)) ** 0.5
    assert abs(float(kept.float().mean()) - (1 - p)) < 4 * deviation / 400_000**0.5
    for axis, count in ((0, 1000), (1, 400)):
        means = kept.float().mean(axis)
        assert abs(float(means.std()) - deviation / count**0.5) < 0.15 * deviation / count**0.5


@pytest.mark.parametrize("step", [1, 2, 64, 128, 256, 1024])
def test_elements_are_independent_of_those_around_them(step):
    torch.manual_seed(step)
    kept = (dropout(torch.ones(400_000), 0.5) != 0).double()
    correlation = torch.corrcoef(torch.stack([kept[:-step], kept[step:]]))[0, 1]
    assert abs(float(correlation)) < 4 / 400_000**0.5


def test_calls_are_independent_and_repeatable():
    x = torch.ones(100_000)
    torch.manual_seed(3)
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(x, 0.5))
    assert torch.equal(second, dropout(x, 0.5))
    correlation = torch.corrcoef(torch.stack([first, second]))[0, 1]
    assert abs(float(correlation)) < 4 / 100_000**0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_dropped_like_the_value(dtype):
    x = torch.randn(7, 5, 3, dtype=dtype).transpose(0, 2).requires_grad_()
    y = dropout(x, 0.3)
    y.sum().backward()
    torch.testing.assert_close(y, x * x.grad)


def test_nothing_is_dropped_in_evaluation_or_without_a_chance():
    x = torch.randn(50)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    assert isinstance(Dropout(0.5), nn.Dropout)


def test_other_dtypes_and_no_elements_work():
    assert dropout(torch.ones(1000, dtype=torch.bfloat16), 0.5).count_nonzero() > 300
    assert dropout(torch.ones(0, 4), 0.5).shape == (0, 4)
