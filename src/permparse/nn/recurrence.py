"""The recurrence of an LSTM on the CPU, in numba: over packed sentences, with a backward pass of its own.

torch runs a step of a packed LSTM as a dozen small operations, which cost more than the arithmetic inside them. Here
only what depends on the step before is a loop: one matrix product and one pass over the gates. All that can be one
large product is one, the gradient of the recurrent weights included.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from permparse.nn.dropout import dropout
from permparse.permutation._kernels import kernel

ONE, HALF = np.float32(1), np.float32(0.5)
LARGEST = np.float32(9)  # beyond, tanh is 1 in float32
P0, P1, P2 = np.float32(0.9999999794676714), np.float32(0.13381027881858606), np.float32(0.0034955906043292145)
P3, P4 = np.float32(2.060911556222686e-05), np.float32(1.3354693446820133e-08)
Q1, Q2 = np.float32(0.4671434348065833), np.float32(0.02587699210960492)
Q3, Q4 = np.float32(0.0003285638543642509), np.float32(7.776574373849956e-07)
"""tanh x = x P(x²) / Q(x²) up to 2.1e-8, the least maximum error for these degrees on [0, 9]."""


def packed_states(lstm: nn.LSTM, packed: PackedSequence) -> PackedSequence:
    """The states of a bidirectional LSTM without projections: what ``lstm(packed)[0]`` is."""
    sizes = packed.batch_sizes.numpy()
    forwards, backwards = np.arange(len(sizes)), np.arange(len(sizes))[::-1]
    states = packed.data
    for layer in range(lstm.num_layers):
        if layer and lstm.dropout:
            states = dropout(states, lstm.dropout, lstm.training)
        directions = []
        for suffix, steps in (("", forwards), ("_reverse", backwards)):
            w_ih, w_hh, b_ih, b_hh = (
                getattr(lstm, f"{name}_l{layer}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            directions.append(_states(F.linear(states, w_ih, b_ih + b_hh), w_hh, _steps_before(sizes, steps)))
        states = torch.cat(directions, 1)
    return PackedSequence(states, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)


def _states(given: Tensor, w: Float[Tensor, "4h h"], before: np.ndarray) -> Tensor:
    """h of `_Recurrence`, without a graph where nobody will ask for gradients."""
    if torch.is_grad_enabled() and (given.requires_grad or w.requires_grad):
        states: Tensor = _Recurrence.apply(given, w, before)
        return states
    return _run(given, w, before)[1]


def _run(given: Tensor, w: Tensor, before: np.ndarray) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gates, h, c and tanh c."""
    gates = given.detach().clone(memory_format=torch.contiguous_format)
    h, c, tanh_c = (gates.new_empty((len(gates), w.shape[1])) for _ in range(3))
    w_t = w.detach().t().contiguous().numpy()
    _forward(gates.numpy(), w_t, before, h.numpy(), c.numpy(), tanh_c.numpy())
    return gates, h, c, tanh_c


class _Recurrence(torch.autograd.Function):
    """h_t = o ⊙ tanh(c_t) with c_t = f ⊙ c_{t-1} + i ⊙ g. The gates i, f, g, o are nonlinear in the sum of what
    ``given`` says of the input and W h_{t-1}.

    *Shapes:* given [n, 4h] with the words of a step next to each other, as torch packs them; w [4h, h]; the result
    [n, h]. ``before`` is what `_steps_before` says.
    """

    @staticmethod
    def forward(ctx: Any, given: Tensor, w: Float[Tensor, "4h h"], before: np.ndarray) -> Tensor:
        gates, h, c, tanh_c = _run(given, w, before)
        ctx.save_for_backward(gates, w, h, c, tanh_c)
        ctx.before = before
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "n h"]) -> tuple[Tensor | None, ...]:
        gates, w, h, c, tanh_c = ctx.saved_tensors
        grad_gates, previous = torch.empty_like(gates), torch.zeros_like(h)
        arrays = [x.detach().contiguous().numpy() for x in (grad, gates, w, h, c, tanh_c)]
        _backward(*arrays, ctx.before, grad_gates.numpy(), previous.numpy())
        return grad_gates, grad_gates.t() @ previous, None


def _steps_before(sizes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """For every step, in the order of visits: the first word, the number of words, the first word of the step before,
    and how many sentences go on from there (the others start here). *Shape:* [m, 4]."""
    first = np.cumsum(sizes) - sizes
    visits = np.zeros((len(steps), 4), np.int64)
    visits[:, 0], visits[:, 1] = first[steps], sizes[steps]
    visits[1:, 2], visits[1:, 3] = first[steps[:-1]], np.minimum(sizes[steps[1:]], sizes[steps[:-1]])
    return visits


@kernel(fastmath={"contract"})
def _tanh(x, out):
    """out = tanh x, for vectors: a rational function in float32, which vectorises, and exact in float64."""
    if x.itemsize == 4:
        for i in range(x.shape[0]):
            y = -LARGEST if x[i] < -LARGEST else x[i]
            y = LARGEST if y > LARGEST else y
            u = y * y
            above = (((P4 * u + P3) * u + P2) * u + P1) * u + P0
            below = (((Q4 * u + Q3) * u + Q2) * u + Q1) * u + ONE
            out[i] = y * above / below
    else:
        for i in range(x.shape[0]):
            out[i] = math.tanh(x[i])


@kernel(fastmath={"contract"})
def _forward(gates, w_t, visits, h, c, tanh_c):
    """Fill h, c and tanh c; ``gates`` hold what the input says of them and are overwritten by what they become."""
    size = h.shape[1]
    products, scratch = np.empty((visits[:, 1].max(), 4 * size), gates.dtype), np.empty(4 * size, gates.dtype)
    for visit in range(visits.shape[0]):
        first, count, last, continued = visits[visit, 0], visits[visit, 1], visits[visit, 2], visits[visit, 3]
        if continued > 0:
            np.dot(h[last : last + continued], w_t, products[:continued])
        for row in range(count):
            gate, at = gates[first + row], first + row
            if row < continued:
                for i in range(4 * size):
                    gate[i] += products[row, i]
            # σ(x) = (1 + tanh(x / 2)) / 2
            for i in range(2 * size):
                gate[i] *= HALF
            for i in range(3 * size, 4 * size):
                gate[i] *= HALF
            _tanh(gate, scratch)
            for i in range(2 * size):
                gate[i] = HALF + HALF * scratch[i]
            for i in range(2 * size, 3 * size):
                gate[i] = scratch[i]
            for i in range(3 * size, 4 * size):
                gate[i] = HALF + HALF * scratch[i]
            for i in range(size):
                c[at, i] = gate[i] * gate[2 * size + i]
            if row < continued:
                for i in range(size):
                    c[at, i] += gate[size + i] * c[last + row, i]
            _tanh(c[at], tanh_c[at])
            for i in range(size):
                h[at, i] = gate[3 * size + i] * tanh_c[at, i]


@kernel(fastmath={"contract"})
def _backward(grad, gates, w, h, c, tanh_c, visits, grad_gates, previous):
    """Fill the gradient of the gates before their nonlinearity, and ``previous`` with the state before each word.

    Sentences are sorted by length, so the rows of those that are over, or have not begun, are never written to.
    """
    size = h.shape[1]
    rows = visits[:, 1].max()
    from_next, cell_from_next = np.zeros((rows, size), h.dtype), np.zeros((rows, size), h.dtype)
    for visit in range(visits.shape[0] - 1, -1, -1):
        first, count, last, continued = visits[visit, 0], visits[visit, 1], visits[visit, 2], visits[visit, 3]
        for row in range(count):
            at = first + row
            for i in range(size):
                i_gate, f_gate = gates[at, i], gates[at, size + i]
                g_gate, o_gate = gates[at, 2 * size + i], gates[at, 3 * size + i]
                grad_h = grad[at, i] + from_next[row, i]
                grad_c = grad_h * o_gate * (ONE - tanh_c[at, i] * tanh_c[at, i]) + cell_from_next[row, i]
                before = c[last + row, i] if row < continued else 0.0
                grad_gates[at, i] = grad_c * g_gate * i_gate * (ONE - i_gate)
                grad_gates[at, size + i] = grad_c * before * f_gate * (ONE - f_gate)
                grad_gates[at, 2 * size + i] = grad_c * i_gate * (ONE - g_gate * g_gate)
                grad_gates[at, 3 * size + i] = grad_h * tanh_c[at, i] * o_gate * (ONE - o_gate)
                cell_from_next[row, i] = grad_c * f_gate
                if row < continued:
                    previous[at, i] = h[last + row, i]
        if continued > 0:
            np.dot(grad_gates[first : first + continued], w, from_next[:continued])
