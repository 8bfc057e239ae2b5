import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from multiset.oracles_multiset import enumerated_best_log_prob, enumerated_log_total_probability
from permparse.multiset import log_total_probability, most_likely_counts
from permparse.multiset.recursion import check_arguments

INF = float("inf")


def random_log_probs(seed: int, groups: int, positions: int, max_count: int, scale: float = 2.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = (groups, positions, max_count + 1)
    return (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).log_softmax(-1)


def random_totals(problem: tuple[int, int, int, int, float], excess: int = 0) -> torch.Tensor:
    seed, groups, positions, max_count, _ = problem
    generator = torch.Generator().manual_seed(seed + 1)
    return torch.randint(0, positions * max_count + excess + 1, (groups,), generator=generator)


problems = st.tuples(
    st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 4), st.integers(1, 3), st.floats(0.1, 50.0)
)


@settings(max_examples=60)
@given(problems)
def test_sum_equals_enumeration(problem):
    log_probs = random_log_probs(*problem)
    totals = random_totals(problem, excess=1)
    torch.testing.assert_close(
        log_total_probability(log_probs, totals), enumerated_log_total_probability(log_probs, totals)
    )


@settings(max_examples=60)
@given(problems)
def test_most_likely_counts_reach_the_total_and_the_enumerated_maximum(problem):
    log_probs = random_log_probs(*problem)
    totals = random_totals(problem)
    counts = most_likely_counts(log_probs, totals)
    assert torch.equal(counts.sum(1), totals)
    found = log_probs.gather(2, counts[..., None]).sum((1, 2))
    torch.testing.assert_close(found, enumerated_best_log_prob(log_probs, totals))


def test_probabilities_of_all_totals_sum_to_one():
    log_probs = random_log_probs(0, 1, 6, 3).expand(19, -1, -1)
    total_mass = log_total_probability(log_probs, torch.arange(19)).exp().sum()
    assert total_mass.item() == pytest.approx(1.0)


def test_gradient_passes_gradcheck():
    log_probs = random_log_probs(1, 4, 5, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: log_total_probability(x, torch.tensor([0, 3, 7, 15])), log_probs)


def test_gradient_is_a_posterior_and_finite_with_excluded_counts():
    log_probs = random_log_probs(2, 3, 5, 2)
    log_probs[:, 1] = torch.tensor([0.0, -INF, -INF])
    log_probs[2, 3, 0] = -INF
    log_probs.requires_grad_()
    result = log_total_probability(log_probs, torch.tensor([2, 8, 9]))
    (gradient,) = torch.autograd.grad(result.sum(), log_probs)
    assert torch.isfinite(gradient).all()
    torch.testing.assert_close(gradient[:2].sum(-1), torch.ones(2, 5, dtype=torch.float64))
    torch.testing.assert_close(gradient[0, 1], torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64))


def test_unreachable_total_has_no_probability_and_no_gradient():
    log_probs = random_log_probs(3, 2, 2, 2).requires_grad_()
    result = log_total_probability(log_probs, torch.tensor([5, 1]))
    (gradient,) = torch.autograd.grad(result[1] + result[0], log_probs)
    assert result[0] == -INF
    assert torch.equal(gradient[0], torch.zeros(2, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"group 0.*cannot reach the total 5"):
        most_likely_counts(log_probs, torch.tensor([5, 1]))


def test_positions_that_do_not_take_part_change_nothing():
    log_probs = random_log_probs(4, 3, 4, 2)
    idle = torch.tensor([0.0, -INF, -INF], dtype=torch.float64).expand(3, 3, 3)
    padded = torch.cat([idle[:, :1], log_probs, idle], 1)
    totals = torch.tensor([0, 2, 5])
    torch.testing.assert_close(log_total_probability(padded, totals), log_total_probability(log_probs, totals))
    assert torch.equal(most_likely_counts(padded, totals)[:, 1:5], most_likely_counts(log_probs, totals))


def test_extreme_log_probabilities_stay_exact_in_single_precision():
    log_probs = torch.tensor([[[0.0, -400.0], [0.0, -300.0]]]).requires_grad_()
    result = log_total_probability(log_probs, torch.tensor([2]))
    (gradient,) = torch.autograd.grad(result.sum(), log_probs)
    assert result.item() == -700.0
    assert torch.equal(gradient, torch.tensor([[[0.0, 1.0], [0.0, 1.0]]]))


def test_no_groups_and_no_positions_are_fine():
    none = torch.zeros((0, 4, 3))
    assert log_total_probability(none, torch.zeros(0, dtype=torch.int64)).shape == (0,)
    assert most_likely_counts(none, torch.zeros(0, dtype=torch.int64)).shape == (0, 4)
    empty = torch.zeros((2, 0, 3))
    assert log_total_probability(empty, torch.tensor([0, 1])).tolist() == [0.0, -INF]


@pytest.mark.parametrize(
    ("log_probs", "totals", "message"),
    [
        (torch.zeros(2, 3), torch.tensor([1, 1]), r"log_probs: expected shape \[G, m, K\+1\], got \[2, 3\]"),
        (torch.zeros(2, 3, 2), torch.tensor([1]), r"totals: expected shape \[2\], got \[1\]"),
        (torch.zeros(1, 3, 2), torch.tensor([-1]), "totals: expected non-negative integers"),
    ],
)
def test_wrong_arguments_are_named(log_probs, totals, message):
    with pytest.raises(ValueError, match=message):
        check_arguments(log_probs, totals)
