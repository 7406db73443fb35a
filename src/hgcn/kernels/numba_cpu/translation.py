"""Translation of points, over :mod:`.translation_forward` and :mod:`.translation_backward`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.tensors import array, bounds_of, curvature_gradient, empty, root_of
from hgcn.kernels.numba_cpu.translation_backward import translate_backward
from hgcn.kernels.numba_cpu.translation_forward import translate_forward
from hgcn.kernels.rows import Doubles, Floats


class Translate(torch.autograd.Function):
    """``translate(v, bias)`` of points ``[n, d]`` and a bias ``[d]`` or ``[n, d]``."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        """Keep the inputs: the backward pass computes again what is cheaper than to store."""
        ctx.save_for_backward(v, bias, c)
        return shift(v, bias, c)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, bias and c."""
        v, bias, c = ctx.saved_tensors
        return shift_back(v, bias, c, grad_out)


def shift(v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
    """The points, translated."""
    out, root = empty(v), root_of(c)
    walk(array(v), _steps(v, bias), root, root, out.numpy())
    return out


def shift_back(
    v: Tensor, bias: Tensor, c: Tensor, grad_out: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by v, bias and c."""
    grad_v, grad_bias, bounds = empty(v), empty(bias), bounds_of(len(v))
    steps, by_steps = _steps(v, bias), grad_bias.numpy().reshape(-1, v.shape[1])
    moment, by_shared = np.empty(len(bounds) - 1), np.empty((len(bounds) - 1, v.shape[1]))
    in_chunks(
        translate_backward, len(moment), array(v), steps, root_of(c), bounds, array(grad_out),
        grad_v.numpy(), by_steps, by_shared, moment,
    )  # fmt: skip
    if len(steps) == 1:
        by_steps[0] = by_shared.sum(0)
    moment = np.append(moment, (steps * by_steps).sum())
    return grad_v, grad_bias, curvature_gradient(moment, c)


def _steps(v: Tensor, bias: Tensor) -> Doubles:
    """The bias as a matrix in double precision, as :func:`walk` takes steps."""
    return array(bias.double()).reshape(-1, v.shape[1])


def walk(v: Floats, t: Doubles, scale: float, root: float, out: Floats) -> None:
    """out_i = translate(v_i, scale t_i / root); a ``t`` of one row is the same for all."""
    bounds = bounds_of(len(v))
    in_chunks(translate_forward, len(bounds) - 1, v, t, scale, root, bounds, out)
