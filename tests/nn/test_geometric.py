import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nn.oracles import textbook_geometric_attention
from permparse.nn import geometric_log_attention
from permparse.nn.geometric import visiting_order


def random_scores(seed: int, *shape: int, scale: float = 2.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_equals_the_textbook_product(seed, size):
    scores = random_scores(seed, size, size)
    torch.testing.assert_close(geometric_log_attention(scores).exp(), textbook_geometric_attention(scores))


def test_right_neighbour_is_visited_first_then_left_and_outwards():
    order, rank = visiting_order(5, torch.device("cpu"))
    assert order.tolist() == [
        [0, 1, 2, 3, 4],
        [1, 2, 0, 3, 4],
        [2, 3, 1, 4, 0],
        [3, 4, 2, 1, 0],
        [4, 3, 2, 1, 0],
    ]
    assert torch.equal(order.gather(1, rank), torch.arange(5).expand(5, 5))


def test_gradient_passes_gradcheck():
    off_diagonal = ~torch.eye(6, dtype=torch.bool)
    scores = random_scores(0, 2, 6, 6).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: geometric_log_attention(x)[:, off_diagonal], scores)
    assert torch.autograd.gradcheck(lambda x: geometric_log_attention(x).exp(), scores)


def test_padding_equals_slicing_bit_by_bit():
    scores = random_scores(1, 3, 7, 7)
    lengths = torch.tensor([7, 4, 1])
    padded = geometric_log_attention(scores, torch.arange(7) < lengths[:, None])
    for b, n in enumerate(lengths.tolist()):
        assert torch.equal(padded[b, :n, :n], geometric_log_attention(scores[b, :n, :n]))
        assert (padded[b, :, n:] == float("-inf")).all()


def test_rows_sum_to_at_most_one():
    total = geometric_log_attention(random_scores(2, 50, 8, 8)).exp().sum(-1)
    assert (total <= 1 + 1e-12).all()


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_extreme_scores_give_no_nan(scale):
    scores = random_scores(3, 4, 9, 9, scale=scale).float().requires_grad_()
    weights = geometric_log_attention(scores)
    assert torch.isfinite(weights[:, ~torch.eye(9, dtype=torch.bool)]).all()
    (gradient,) = torch.autograd.grad(weights.exp().sum(), scores)
    assert torch.isfinite(gradient).all()


def test_a_confident_miss_keeps_its_digits():
    # log(1 - sigmoid(30)) is -30, but 1 - sigmoid(30) rounds to 0 in single precision
    scores = torch.full((3, 3), 30.0)
    assert geometric_log_attention(scores)[0, 2].item() == pytest.approx(-30.0)
