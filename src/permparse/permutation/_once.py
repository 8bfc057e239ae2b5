"""Gradients that cannot be differentiated again: refuse it in words instead of treating them as constants."""

from __future__ import annotations

import torch
from torch import Tensor


class _Refuse(torch.autograd.Function):
    """Gradients unchanged, as a function of the scores whose backward pass raises."""

    @staticmethod
    def forward(ctx, number_of_scores: int, *tensors: Tensor):
        return tuple(gradient.view_as(gradient) for gradient in tensors[number_of_scores:])

    @staticmethod
    def backward(ctx, *upstream):
        raise RuntimeError(
            "second derivatives of permutation_loss and of the implicit layer are not implemented; "
            'relaxed_permutation(..., gradient="unrolled") can be differentiated twice'
        )


def once(scores: tuple[Tensor | None, ...], gradients: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The ``gradients`` of ``scores``, which raise when they are differentiated (``create_graph=True``).

    `torch.autograd.function.once_differentiable` does the same only where the upstream gradient itself has a graph.
    """
    if not torch.is_grad_enabled():
        return gradients
    given = [s for s in scores if s is not None]
    found = [g for g in gradients if g is not None]
    refused = iter(_Refuse.apply(len(given), *given, *found))
    return tuple(None if g is None else next(refused) for g in gradients)
