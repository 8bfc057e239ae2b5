"""Elementwise loops for the numba kernels: written out, they compile many times faster than array expressions."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True)
def copy(source, target):
    """target = source, for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = source[j, i]


@njit(cache=True, nogil=True)
def copy_vector(source, target):
    """target = source, for vectors."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit(cache=True, nogil=True)
def scaled(source, scale, target):
    """target = scale · source, for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = scale * source[j, i]


@njit(cache=True, nogil=True)
def exp_scaled(source, scale, target):
    """target = exp(scale · source), for matrices; 0 below e^-650 (no denormals) and at most e^650."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            x = scale * source[j, i]
            target[j, i] = math.exp(min(x, 650.0)) if x > -650.0 else 0.0


@njit(cache=True, nogil=True)
def log(source, target):
    """target = log(source), for matrices; at least -650."""
    smallest = math.exp(-650.0)
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = math.log(max(source[j, i], smallest))
