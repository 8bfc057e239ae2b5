"""How the solution moves when the scores move: implicit differentiation of the optimality conditions.

The optimal value F(s) is convex with gradient (U*, Σ_j W*) / τ, so the Jacobian of the solution is a symmetric Hessian
and the vector-Jacobian product is a directional derivative: change the scores by v, and the solution changes by the
d log U, d log W closest to v (in the metric of U and W) that keep all constraints. That is a least-squares problem in
the changes of the dual variables. Those of projection (i), λ and the column scales, have a closed form given the
others; the rest, μ and the row scales r, is solved by conjugate gradients. Every variable of a cell is multiplied by
sqrt(U), so that W enters as W_ijk / sqrt(U_ij U_k,j-1), a matrix with norm 1: nothing is ever divided by a small U.

Arrays are position-major, [B, j, i]; what belongs to the pair of positions (j, j+1) stands in row j. Cost: two matrix
products per iteration and O(n²) memory, as for a sweep of the solver; O(n³) where the factors of W leave float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from permparse.permutation.solution import Solution

MAX_ITERATIONS = 1000
PATIENCE = 100
"""Iterations without a smaller residual after which an example counts as finished: rounding errors rule."""
LARGEST_LOG = 300.0
"""Factors of W up to e^±300 can be multiplied with one another in float64."""


def _next(rows: Tensor) -> Tensor:
    """Row j+1 at row j; the last row is zero."""
    return torch.cat([rows[:, 1:], torch.zeros_like(rows[:, :1])], 1)


def _previous(rows: Tensor) -> Tensor:
    """Row j-1 at row j; the first row is zero."""
    return torch.cat([torch.zeros_like(rows[:, :1]), rows[:, :-1]], 1)


class _Weights(Protocol):
    """W_ijk / sqrt(U_ij U_k,j-1) as an operator between the cells of neighbouring positions."""

    def forward(self, y: Tensor) -> Tensor:
        """Σ_k: from the cells of j-1, in row j-1, to those of j. *Shape:* [B, j, k] -> [B, j, i]."""

    def backward(self, x: Tensor) -> Tensor:
        """Σ_i: from the cells of j to those of j-1, in row j-1. *Shape:* [B, j, i] -> [B, j, k]."""

    def marginals(self, y: Tensor, x: Tensor) -> Tensor:
        """Σ_j y_k,j-1 W x_ij. *Shape:* [B, j, k], [B, j, i] -> [B, k, i]."""

    def times(self, scores: Tensor) -> _Weights:
        """W multiplied by ``scores`` [B, k, i]."""


@dataclass(frozen=True)
class _Factorised:
    """kernel[k, i] · a[j, i] · b[j-1, k]."""

    kernel: Tensor
    a: Tensor
    b: Tensor

    def forward(self, y: Tensor) -> Tensor:
        return self.a * _previous((self.b * y) @ self.kernel)

    def backward(self, x: Tensor) -> Tensor:
        return self.b * _next((self.a * x) @ self.kernel.transpose(1, 2))

    def marginals(self, y: Tensor, x: Tensor) -> Tensor:
        return self.kernel * (_previous(self.b * y).transpose(1, 2) @ (self.a * x))

    def times(self, scores: Tensor) -> _Factorised:
        return replace(self, kernel=self.kernel * scores)


@dataclass(frozen=True)
class _InFull:
    """*Shape:* w [B, j, k, i]."""

    w: Tensor

    def forward(self, y: Tensor) -> Tensor:
        return torch.einsum("bjki,bjk->bji", self.w, _previous(y))

    def backward(self, x: Tensor) -> Tensor:
        return _next(torch.einsum("bjki,bji->bjk", self.w, x))

    def marginals(self, y: Tensor, x: Tensor) -> Tensor:
        return torch.einsum("bjki,bjk,bji->bki", self.w, _previous(y), x)

    def times(self, scores: Tensor) -> _InFull:
        return _InFull(self.w * scores[:, None])


def _weights(solution: Solution, log_root: Tensor) -> _Weights:
    """``log_root`` [B, j, i] is log sqrt(U), -inf outside the support."""
    jump = solution.problem.jump.detach().double() / solution.temperature.double()[:, None, None]
    off = solution.problem.pair_mask & ~torch.eye(jump.shape[1], dtype=torch.bool, device=jump.device)
    kernel = jump.masked_fill(~off, -torch.inf)
    a = _minus(solution.alpha.double().transpose(1, 2), log_root)
    b = _minus(_next(solution.beta.double().transpose(1, 2)), log_root)
    # Each pair of positions has one degree of freedom between a and b, and the kernel another.
    top = _finite_max(kernel.flatten(1))[:, :, None]
    centre = _finite_max(b.flatten(0, 1)).reshape(*b.shape[:2], 1)
    kernel, a, b = kernel - top, a + _previous(centre) + top, b - centre
    if any(float(x.masked_fill(x.isinf(), 0.0).abs().max()) > LARGEST_LOG for x in (a, b) if x.numel()):
        # W never exceeds sqrt(U U'), except by the residual of the solution.
        return _InFull((kernel[:, None] + a[:, :, None] + _log_previous(b)[:, :, :, None]).clamp(max=0.0).exp())
    return _Factorised(kernel.exp(), a.exp(), b.exp())


def _log_previous(log_factor: Tensor) -> Tensor:
    """`_previous` for logarithms: the first row is -inf."""
    return torch.cat([torch.full_like(log_factor[:, :1], -torch.inf), log_factor[:, :-1]], 1)


def _minus(log_x: Tensor, log_y: Tensor) -> Tensor:
    """log x - log y, and -inf where either is."""
    absent = log_x.isinf() | log_y.isinf()
    return torch.where(absent, -torch.inf, log_x.masked_fill(absent, 0.0) - log_y.masked_fill(absent, 0.0))


def _finite_max(x: Tensor) -> Tensor:
    """The largest entry of each row, 0 if there is none or it is infinite. *Shape:* [R, C] -> [R, 1]."""
    if not x.shape[1]:
        return x.new_zeros(x.shape[0], 1)
    top = x.amax(1, keepdim=True)
    return torch.where(top.isfinite(), top, 0.0)


@dataclass(frozen=True)
class _LeastSquares:
    """The problem left when λ and the column scales are eliminated.

    *Shapes:* root [B, j, i], sqrt(U); first [B, j, 1], 1 at the first position and 0 elsewhere; inner [B, j, 1],
    1 where there is a next position."""

    weights: _Weights
    root: Tensor
    first: Tensor
    inner: Tensor

    def changes(self, cells: Tensor, sums: Tensor, y: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """sqrt(U) d log U and sqrt(U) λ [B, j, i] given sqrt(U) v, Σ_k W v / sqrt(U), sqrt(U) μ and r."""
        into = sums + self.weights.forward(y)
        rest = cells + self.root * r[:, None, :] - y
        column = -(self.root * (rest + into)).sum(2, keepdim=True)
        rest = rest + self.root * column
        halved = 0.5 * (rest + into)
        return torch.where(self.first > 0, rest, halved), torch.where(self.first > 0, 0.0, rest - halved)

    def gradient(self, change: Tensor, λ: Tensor, out_of: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """What is left of the constraints on Σ_i W [B, j, k] and on rows [B, i]; ``out_of`` is Σ_i W v / sqrt(U)."""
        sums = (out_of + self.weights.backward(λ) + y - change) * self.inner
        return sums, (self.root * change).sum(1)

    def apply(self, y: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        zero = torch.zeros_like(y)
        change, λ = self.changes(zero, zero, y, r)
        return self.gradient(change, λ, zero, y)

    def project(self, y: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Remove the directions that change nothing: all r, or all μ of one pair of positions, by the same amount."""
        weight = self.root * self.inner
        y = y - weight * (weight * y).sum(2, keepdim=True) / (weight.square().sum(2, keepdim=True)).clamp(min=0.5)
        tokens = self.root.square().sum(1)
        return y, r - tokens * r.sum(1, keepdim=True) / tokens.sum(1, keepdim=True).clamp(min=0.5)

    def solve(self, y: Tensor, r: Tensor, tolerance: Tensor) -> tuple[Tensor, Tensor]:
        """Conjugate gradients for apply(x) = (y, r), each example to a residual of ``tolerance`` [B] times its first.

        Where rounding errors, or a solution that has not converged, make the system inconsistent, the iterate with the
        smallest residual.
        """
        scale_y = 1.0 / (1.5 + 0.5 * self.first)

        def dot(p: tuple[Tensor, Tensor], q: tuple[Tensor, Tensor]) -> Tensor:
            return (p[0] * q[0]).sum((1, 2)) + (p[1] * q[1]).sum(1)

        def add(p: tuple[Tensor, Tensor], q: tuple[Tensor, Tensor], step: Tensor) -> tuple[Tensor, Tensor]:
            return p[0] + step[:, None, None] * q[0], p[1] + step[:, None] * q[1]

        def precondition(p: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            return self.project(scale_y * p[0], 2.0 * p[1])

        residual = self.project(y, r)
        x = best = torch.zeros_like(y), torch.zeros_like(r)
        direction = precondition(residual)
        energy = smallest = dot(residual, direction)
        goal = energy * tolerance**2
        since = torch.zeros_like(energy)
        for _ in range(MAX_ITERATIONS):
            image = self.apply(*direction)
            curvature = dot(direction, image)
            usable = (energy > goal) & (curvature > 1e-14 * dot(direction, direction)) & (since < PATIENCE)
            if not bool(usable.any()):
                break
            step = torch.where(usable, energy / torch.where(usable, curvature, 1.0), 0.0)
            x = add(x, direction, step)
            residual = add(residual, image, -step)
            preconditioned = precondition(residual)
            renewed = dot(residual, preconditioned)
            ratio = torch.where(usable, renewed / torch.where(usable, energy, 1.0), 0.0)
            direction = add(preconditioned, direction, ratio)
            energy = torch.where(usable, renewed, 0.0)
            better = usable & (renewed < smallest)
            smallest = torch.where(better, renewed, smallest)
            since = torch.where(better, 0.0, since + 1.0)
            best = torch.where(better[:, None, None], x[0], best[0]), torch.where(better[:, None], x[1], best[1])
        return best


def sensitivity(solution: Solution, grad_u: Tensor, grad_marginals: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of start [B, i], jump [B, k, i], end [B, i] and position [B, i, j] from those of U and Σ_j W."""
    problem, dtype = solution.problem, grad_u.dtype
    log_root = 0.5 * solution.log_u.double().transpose(1, 2)
    root = log_root.exp()
    weights = _weights(solution, log_root)
    inner = problem.token_mask & ~problem.last_mask
    system = _LeastSquares(weights, root, problem.first_mask[:, :, None].double(), inner[:, :, None].double())

    cells = root * torch.where(root > 0, grad_u.double().transpose(1, 2), 0.0)
    v_jump = torch.where(solution.jump_marginals > 0, grad_marginals, 0.0).double()
    scored = weights.times(v_jump)
    into, out_of = scored.forward(root), scored.backward(root)
    nothing = torch.zeros_like(cells), torch.zeros_like(cells.sum(1))
    sums, rows = system.gradient(*system.changes(cells, into, *nothing), out_of, nothing[0])
    # More digits than the solution or the gradient's dtype has would be noise.
    tolerance = (1e-3 * solution.residual.double()).clamp(1e-12 if dtype == torch.float64 else 1e-7, 1e-6)
    y, r = system.solve(-sums, -rows, tolerance)

    change, λ = system.changes(cells, into, y, r)
    jump = scored.marginals(root, root) + weights.marginals(root, λ) + weights.marginals(y, root)
    tau = solution.temperature.double()[:, None, None]
    by_cell = ((root * change).transpose(1, 2) / tau).to(dtype)
    start, end = problem.first_and_last(by_cell)
    return start, (jump / tau).to(dtype), end, by_cell
