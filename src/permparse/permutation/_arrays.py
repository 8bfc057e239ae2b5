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
    """target = exp(scale · source), for matrices."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = math.exp(scale * source[j, i])


@njit(cache=True, nogil=True)
def log(source, target):
    """target = log(source), for matrices of positive numbers."""
    for j in range(target.shape[0]):
        for i in range(target.shape[1]):
            target[j, i] = math.log(source[j, i])
