"""Translation of a list of points, as an autograd function over :mod:`.translation_block`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.numba_cpu.points import BLOCK, COLUMNS, fill_polar
from hgcn.kernels.numba_cpu.tensors import array, bounds_of, curvature_gradient, empty, root_of
from hgcn.kernels.numba_cpu.translation_block import translate_block, translate_block_backward
from hgcn.kernels.rows import Doubles, Floats, Ints


@compiled(error_model="numpy", nogil=True)
def translate_forward(
    first_chunk: int, last_chunk: int, v: Floats, bias: Floats, root: float, bounds: Ints,
    out: Floats,
) -> None:  # fmt: skip
    """out_i = translate(v_i, bias_i); a ``bias`` of one row is the same for all."""
    shared = len(bias) == 1
    for chunk in range(first_chunk, last_chunk):
        polar, radial = np.empty((BLOCK, COLUMNS)), np.empty((BLOCK, COLUMNS))
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[chunk + 1])
            t = root * (bias if shared else bias[lo:hi]).astype(np.float64)
            fill_polar(v[lo:hi], root, polar, radial)
            translate_block(v[lo:hi], polar, t, root, out[lo:hi])


@compiled(error_model="numpy", nogil=True)
def translate_backward(
    first_chunk: int,
    last_chunk: int,
    v: Floats,
    bias: Floats,
    root: float,
    bounds: Ints,
    grad_out: Floats,
    grad_v: Floats,
    grad_bias: Doubles,
    moment: Doubles,
) -> None:
    """Gradients of :func:`translate_forward`; ``moment`` has a row for each chunk.

    If the bias is the same for all rows, ``grad_bias`` has a row for each chunk too, and starts at
    zero.
    """
    d, shared = v.shape[1], len(bias) == 1
    for chunk in range(first_chunk, last_chunk):
        polar, radial = np.empty((BLOCK, COLUMNS)), np.empty((BLOCK, COLUMNS))
        by_t, by_v = np.empty((BLOCK, d)), np.empty((BLOCK, d))
        total = 0.0
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[chunk + 1])
            t = root * (bias if shared else bias[lo:hi]).astype(np.float64)
            fill_polar(v[lo:hi], root, polar, radial)
            total += translate_block_backward(
                v[lo:hi], polar, radial, t, root, grad_out[lo:hi], by_t, by_v
            )
            for b in range(hi - lo):
                row, own = np.int64(chunk) if shared else lo + b, 0 if shared else b
                for k in range(d):
                    grad_v[lo + b, k] = by_v[b, k]
                    grad_bias[row, k] += root * by_t[b, k]
                total += dot(by_t, b, t, own)
        moment[chunk] = total


class Translate(torch.autograd.Function):
    """``translate(v, bias)`` of points ``[n, d]`` and a bias ``[d]`` or ``[n, d]``."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        """Keep the inputs: the backward pass computes again what is cheaper than to store."""
        out, rows = empty(v), array(bias).reshape(-1, v.shape[1])
        bounds = bounds_of(len(v))
        in_chunks(
            translate_forward, len(bounds) - 1, array(v), rows, root_of(c), bounds, out.numpy()
        )
        ctx.save_for_backward(v, bias, c)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, bias and c; a shared bias adds up chunk by chunk."""
        v, bias, c = ctx.saved_tensors
        grad_v, bounds = empty(v), bounds_of(len(v))
        rows, moment = array(bias).reshape(-1, v.shape[1]), np.empty(len(bounds) - 1)
        shared = len(rows) == 1
        grad_rows = np.zeros((len(bounds) - 1 if shared else len(rows), v.shape[1]))
        in_chunks(
            translate_backward, len(moment), array(v), rows, root_of(c), bounds, array(grad_out),
            grad_v.numpy(), grad_rows, moment,
        )  # fmt: skip
        grad_bias = torch.from_numpy(grad_rows.sum(0) if shared else grad_rows)
        return grad_v, grad_bias.to(bias.dtype).view_as(bias), curvature_gradient(moment, c)
