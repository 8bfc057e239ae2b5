"""The relaxed problem and its gradient by a general convex layer, cvxpylayers, where that is installed."""

from __future__ import annotations

import pytest
import torch

from peers import convex_layer
from permparse.permutation import BregmanSolver, JumpProblem, relaxed_permutation

pytest.importorskip("cvxpylayers.torch", exc_type=ImportError)
pytestmark = pytest.mark.filterwarnings("ignore")


def test_solution_and_gradient_are_those_of_a_general_convex_layer():
    n, temperature = 4, 0.7
    generator = torch.Generator().manual_seed(0)
    start, jump, end = (torch.randn(1, *s, dtype=torch.float64, generator=generator) for s in ((n,), (n, n), (n,)))
    weights = torch.randn(n, n, dtype=torch.float64, generator=generator)
    ours = [x.clone().requires_grad_() for x in (start, jump, end)]
    u = relaxed_permutation(JumpProblem(*ours), BregmanSolver(temperature, tolerance=1e-10)).u[0]
    (u * weights).sum().backward()

    theirs = [x[0].clone().requires_grad_() for x in (start, jump, end)]
    cells = torch.stack([theirs[0], *[torch.zeros(n, dtype=torch.float64)] * (n - 2), theirs[2]], 1)
    expected = convex_layer(n, temperature)(cells, theirs[1], solver_args={"eps": 1e-9, "max_iters": 20_000})[0]
    (expected * weights).sum().backward()
    torch.testing.assert_close(u, expected, atol=1e-5, rtol=0)
    off_diagonal = ~torch.eye(n, dtype=torch.bool)
    torch.testing.assert_close(ours[0].grad[0], theirs[0].grad, atol=1e-3, rtol=0)
    torch.testing.assert_close(ours[1].grad[0][off_diagonal], theirs[1].grad[off_diagonal], atol=1e-3, rtol=0)
    torch.testing.assert_close(ours[2].grad[0], theirs[2].grad, atol=1e-3, rtol=0)
