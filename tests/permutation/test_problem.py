"""What a jump problem accepts, refuses and scores."""

from __future__ import annotations

import pytest
import torch

from permparse.permutation import BregmanSolver, JumpProblem, Temperature


def scores(batch=2, n=3, **changes):
    values = {"start": torch.zeros(batch, n), "jump": torch.zeros(batch, n, n), "end": torch.zeros(batch, n)}
    return JumpProblem(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": torch.zeros(2, 4)}, r"start: expected shape \[2, 3\], got \[2, 4\]"),
        ({"jump": torch.zeros(2, 3, 4)}, r"jump: expected shape \[B, N, N\], got \[2, 3, 4\]"),
        ({"jump": torch.zeros(2, 3, 3, dtype=torch.int64)}, "jump: expected a floating-point tensor"),
        ({"end": torch.zeros(2, 3).double()}, "end: expected the dtype of jump"),
        ({"allowed": torch.zeros(2, 3, 3)}, "allowed: expected a boolean tensor"),
        ({"allowed": torch.zeros(3, 3) > 0}, r"allowed: expected shape \[2, 3, 3\]"),
        ({"lengths": torch.tensor([4, 1])}, "lengths: expected values from 0 to 3"),
        ({"start": torch.full((2, 3), torch.nan)}, r"start\[0, 0\]: expected a finite score, got nan"),
        ({"jump": torch.full((2, 3, 3), -torch.inf)}, r"jump\[0, 0, 1\]: expected a finite score, got -inf"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        scores(**changes)


def test_padding_and_the_diagonal_may_hold_anything():
    jump = torch.zeros(1, 3, 3)
    jump[0, 2] = torch.nan
    jump[0, :, 2] = torch.nan
    jump[0].fill_diagonal_(torch.inf)
    problem = JumpProblem(torch.tensor([[0.0, 0.0, torch.nan]]), jump, torch.zeros(1, 3), torch.tensor([2]))
    for backend in ("cpu", "torch"):
        solution = BregmanSolver(backend=backend).solve(problem)
        torch.testing.assert_close(solution.u[0, :2, :2], torch.full((2, 2), 0.5))
        assert not bool(solution.u.isnan().any())


def test_score_adds_start_jumps_end_and_positions():
    start, end = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[10.0, 20.0, 30.0]])
    jump = torch.arange(9.0).reshape(1, 3, 3) * 100
    assert JumpProblem(start, jump, end).score([[2, 0, 1]]).tolist() == [3 + 600 + 100 + 20]
    position = torch.zeros(1, 3, 3)
    position[0, 2, 0] = 0.5
    assert JumpProblem(start, jump, end, position=position).score([[2, 0, 1]]).tolist() == [723.5]


def test_score_wants_a_permutation():
    with pytest.raises(ValueError, match=r"order\[0\]: expected a permutation of 0..2, got \[0, 0, 1\]"):
        scores(batch=1).score([[0, 0, 1]])


def test_temperature_is_the_papers_by_default():
    assert Temperature()(10) == pytest.approx(1 / 2.302585093)
    assert Temperature(0.1, 2)(10) == pytest.approx(0.1 / 2.302585093**2)
    assert Temperature()(1) == Temperature()(2)
    with pytest.raises(ValueError, match="positive"):
        Temperature(0.0)


@pytest.mark.parametrize("changes", [{"tolerance": -1.0}, {"max_sweeps": 0}, {"memory": -1}, {"backend": "gpu"}])
def test_bad_settings_are_named(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=name):
        BregmanSolver(**changes)
