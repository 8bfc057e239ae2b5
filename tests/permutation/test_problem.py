"""What a jump problem accepts, refuses and scores."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from permparse.permutation import (
    BregmanSolver,
    JumpProblem,
    Temperature,
    decode,
    k_best,
    permutation_loss,
    round_permutation,
)


def scores(batch=2, n=3, **changes):
    values = {"start": torch.zeros(batch, n), "jump": torch.zeros(batch, n, n), "end": torch.zeros(batch, n)}
    return JumpProblem(**(values | changes))


@pytest.mark.usefixtures("unchecked")
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
        ({"start": None}, "start: expected a tensor, a numpy array or nested lists of equal lengths, got None"),
        ({"start": "abc"}, "start: expected .*, got str"),
        ({"start": 1.0}, "start: expected .*, got float"),
        ({"start": [[1.0, 2.0, 3.0], [1.0]]}, "start: expected .*, got a list that is ragged"),
        ({"start": [["a", "b", "c"]] * 2}, "start: expected .*, got a list of str"),
        ({"end": [[1j, 2.0, 3.0]] * 2}, "end: expected real numbers, got complex128"),
        ({"end": np.zeros((2, 3), complex)}, "end: expected a floating-point tensor, got torch.complex128"),
        ({"start": np.zeros((2, 3), int)}, "start: expected a floating-point tensor, got torch.int64"),
        ({"start": np.array([[object()] * 3] * 2)}, "start: expected numbers, got an array of dtype object"),
        ({"start": np.zeros((2, 3))}, "start: expected the dtype of jump, torch.float32, got torch.float64"),
        ({"start": torch.zeros(2, 3, device="meta")}, "start: expected the device of jump, cpu, got meta"),
        ({"lengths": torch.zeros(2, dtype=torch.int64, device="meta")}, "lengths: expected the device of jump"),
        ({"lengths": [1.0, 2.0]}, "lengths: expected integers, got torch.float64"),
        ({"allowed": [[[1, 0, 1]] * 3] * 2}, "allowed: expected a boolean tensor, got torch.int64"),
        ({"position": "abc"}, "position: expected .*, got str"),
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


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("changes", [{"tolerance": -1.0}, {"max_sweeps": 0}, {"memory": -1}, {"backend": "gpu"}])
def test_bad_settings_are_named(changes):
    (name,) = changes
    with pytest.raises(ValueError, match=name):
        BregmanSolver(**changes)


def test_arrays_and_lists_are_as_good_as_tensors():
    rng = np.random.default_rng(0)
    start, jump, end = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))
    allowed = [[[True] * 3] * 3, np.eye(3, dtype=bool).tolist()]
    tensors = JumpProblem(*map(torch.from_numpy, (start, jump, end)), torch.tensor([3, 2]), torch.tensor(allowed))
    mixed = JumpProblem(start.tolist(), jump, end[::-1][::-1], [3, 2], allowed)
    for name in ("start", "jump", "end", "lengths", "allowed"):
        assert torch.equal(getattr(mixed, name), getattr(tensors, name))
    lists = JumpProblem([[0, 1, 2]], [[[0] * 3] * 3], [[0.5, 0, 0]])
    assert lists.jump.dtype == lists.start.dtype == torch.get_default_dtype()
    loss = permutation_loss(JumpProblem(start, jump, end), np.array(allowed))
    torch.testing.assert_close(loss, permutation_loss(JumpProblem(start, jump, end), torch.tensor(allowed)))


def test_a_later_change_of_an_array_does_not_reach_the_problem():
    jump = np.zeros((1, 2, 2))
    problem = JumpProblem([[0, 0]], jump, [[0, 0]])
    jump[:] = 7
    assert not bool(problem.jump.any())


def test_a_problem_is_a_sequence_of_examples():
    problem = JumpProblem(
        torch.arange(8.0).reshape(4, 2),
        torch.zeros(4, 2, 2),
        torch.zeros(4, 2),
        [2, 1, 0, 2],
        position=np.zeros((4, 2, 2), "f"),
    )
    assert len(problem) == 4
    assert problem[2].start.tolist() == [[4.0, 5.0]]
    assert problem[-1].start.tolist() == [[6.0, 7.0]]
    assert problem[1:3].sizes() == [1, 0]
    assert [example.sizes() for example in problem] == [[2], [1], [0], [2]]
    for index in (4, -5):
        with pytest.raises(IndexError, match="below 4"):
            problem[index]


def test_to_moves_and_converts_and_keeps_gradients():
    jump = torch.zeros(1, 2, 2, requires_grad=True)
    allowed = torch.ones(1, 2, 2, dtype=torch.bool)
    problem = JumpProblem([[0, 0]], jump, [[0, 0]], [2], allowed, np.zeros((1, 2, 2), "f"))
    double = problem.to(torch.float64).to("cpu").to(torch.device("cpu"))
    assert {double.start.dtype, double.jump.dtype, double.position.dtype} == {torch.float64}
    assert (double.lengths.dtype, double.allowed.dtype) == (torch.int64, torch.bool)
    double.jump.sum().backward()
    assert jump.grad is not None
    with pytest.raises(ValueError, match=r"to: expected a floating-point dtype for scores, got torch.int64"):
        problem.to(torch.int64)


@pytest.mark.usefixtures("unchecked")
def test_a_number_is_a_constant_temperature():
    assert BregmanSolver(0.3) == BregmanSolver(Temperature(0.3, 0))
    assert BregmanSolver(np.float32(0.5)).temperature(7) == 0.5
    for wrong in ("hot", None, True, 0.0, float("nan")):
        with pytest.raises(ValueError, match=r"temperature.*expected"):
            BregmanSolver(wrong)


@pytest.mark.parametrize("n", [0, 1, 5, 14])
@pytest.mark.parametrize("with_position", [False, True])
def test_decoded_orders_are_plain_data(n, with_position):
    generator = torch.Generator().manual_seed(n)
    start, jump, end, position = (torch.randn(1, *s, generator=generator) for s in ((n,), (n, n), (n,), (n, n)))
    problem = JumpProblem(start, jump, end, position=position if with_position else None)
    methods = ["search", "exact", "hungarian"] if with_position else ["search", "exact", "hungarian", "prove"]
    found = [d for m in methods for d in decode(problem, m, log_u=torch.zeros(1, n, n))] + k_best(problem, 3)[0]
    found += decode(problem, nodes=0, kicks=0)
    for decoded in found:
        assert json.loads(json.dumps(dataclasses.asdict(decoded))) == dataclasses.asdict(decoded)
        assert [type(decoded.score), type(decoded.bound), type(decoded.proven_optimal)] == [float, float, bool]


@pytest.mark.usefixtures("unchecked")
def test_the_loss_wants_a_mask():
    problem = scores(batch=1)
    for wrong, message in (
        (None, "allowed: expected .*, got None"),
        ([[[1.0] * 3] * 3], "allowed: expected a boolean"),
    ):
        with pytest.raises(ValueError, match=message):
            permutation_loss(problem, wrong)


def test_shapes_in_annotations_are_checked_while_testing():
    with pytest.raises(TypeError, match=r"[Tt]ype-check"):
        round_permutation(torch.zeros(1, 3, 4))
