"""Translation of a list of points, as an autograd function over ``translation_tile``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.triton_gpu.tiles import (
    curvature_gradient,
    doubles,
    point_tile,
    programs,
    whole,
    zeros_on,
)
from hgcn.kernels.triton_gpu.translation_tile import translate_backward, translate_forward


def translated(v: Tensor, t: Tensor, c: Tensor, *, units: bool) -> Tensor:
    """Points translated by steps ``[n, d]`` or ``[d]``, which may be in curvature radii."""
    (rows, d), out = v.shape, torch.empty_like(v)
    if rows:
        translate_forward[programs(rows)](
            v, t, c, zeros_on(v.device), out, rows, d,
            SHARED=t.dim() == 1, UNITS=units, **point_tile(d, v),
        )  # fmt: skip
    return out


def translated_backward(
    v: Tensor, t: Tensor, c: Tensor, grad_out: Tensor, *, units: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by the points and the steps, and the moments of rows; see there."""
    rows, d = v.shape
    shared, grid = t.dim() == 1, programs(rows)
    grad_v, moment = torch.empty_like(v), doubles(v, rows)
    grad_t = doubles(v, grid[0], d) if shared else torch.empty_like(t)
    if rows:
        translate_backward[grid](
            v, t, c, zeros_on(v.device), grad_out, grad_v, grad_t, moment, rows, d,
            SHARED=shared, UNITS=units, **point_tile(d, v),
        )  # fmt: skip
    return grad_v, grad_t.sum(0).to(t.dtype) if shared else grad_t, moment


class Translate(torch.autograd.Function):
    """``translate(v, bias)`` of points ``[n, d]`` and a bias ``[d]`` or ``[n, d]``."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        """Keep the inputs: the backward pass computes again what is cheaper than to store."""
        v, bias = whole(v), whole(bias)
        ctx.save_for_backward(v, bias, c)
        return translated(v, bias, c, units=False)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, bias and c; a shared bias adds up program by program."""
        v, bias, c = ctx.saved_tensors
        grad_v, grad_bias, moment = translated_backward(v, bias, c, whole(grad_out), units=False)
        return grad_v, grad_bias, curvature_gradient(moment, c)
