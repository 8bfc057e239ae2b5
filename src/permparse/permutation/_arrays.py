"""Elementwise loops for the numba kernels: written out, they compile many times faster than array expressions."""

from __future__ import annotations

import math

from permparse.permutation._kernels import kernel

LARGEST_LOG = 650.0  # logarithms beyond leave float64, or reach its denormals


@kernel
def copy(source, target):
    """target = source, for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = source[j, i]


@kernel
def copy_vector(source, target):
    """target = source, for vectors."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@kernel
def fill(target, value):
    """target = value, for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = value


@kernel
def scaled(source, scale, target):
    """target = scale · source, for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = scale * source[j, i]


@kernel
def exp_scaled(source, scale, target):
    """target = exp(scale · source), for matrices, between e^-650 and e^650; 0 where the source is -inf.

    What is possible keeps a positive weight, however small: a cell that vanished would change which solutions exist.
    """
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            x = scale * source[j, i]
            target[j, i] = math.exp(min(max(x, -LARGEST_LOG), LARGEST_LOG)) if x > -math.inf else 0.0


@kernel
def log(source, target):
    """target = log(source), for matrices; at least -650."""
    smallest = math.exp(-LARGEST_LOG)
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = math.log(max(source[j, i], smallest))
