"""Translation of a list of points, as an autograd function over ``translation_tile``."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.triton_gpu.points import dot, load_rows, store_rows
from hgcn.kernels.triton_gpu.tiles import (
    curvature_gradient,
    doubles,
    programs,
    spread,
    tile,
    whole,
    zeros_on,
)
from hgcn.kernels.triton_gpu.translation_tile import translate_tile, translate_tile_backward


@triton.jit
def load_steps(bias, root, row, rows, column, d, SHARED: tl.constexpr):
    """Steps in units of the curvature radius; a shared bias is the same for all rows."""
    at = row * 0 if SHARED else row
    return load_rows(bias, at, rows, column, d) * root.to(bias.dtype.element_ty)


@triton.jit
def _translate_forward(
    v, bias, c, zeros, out, rows, d, SHARED: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr
):
    """out_i = translate(v_i, bias_i)."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, D)
    root = tl.sqrt(tl.load(c).to(tl.float64))
    t = load_steps(bias, root, row, rows, column, d, SHARED)
    moved = translate_tile(load_rows(v, row, rows, column, d), t, root, zeros)
    store_rows(out, row, rows, column, d, moved)


@triton.jit
def _translate_backward(
    v, bias, c, zeros, grad_out, grad_v, grad_bias, moment, rows, d,
    SHARED: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradients of the forward pass; of a shared bias one row for each program."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, D)
    root = tl.sqrt(tl.load(c).to(tl.float64))
    t = load_steps(bias, root, row, rows, column, d, SHARED)
    point, grad = load_rows(v, row, rows, column, d), load_rows(grad_out, row, rows, column, d)
    by_v, by_t, total = translate_tile_backward(point, t, root, grad, zeros)
    store_rows(grad_v, row, rows, column, d, by_v)
    total += spread(dot(by_t, t), zeros)
    tl.store(moment + row, total, mask=row < rows)
    by_bias = by_t * root.to(by_t.dtype)
    if SHARED:
        # Outside of the matrix the gradient by the output is zero, and so is that by the bias.
        at = grad_bias + tl.program_id(0).to(tl.int64) * d + column
        tl.store(at, tl.sum(by_bias.to(tl.float64), 0), mask=column < d)
    else:
        store_rows(grad_bias, row, rows, column, d, by_bias)


class Translate(torch.autograd.Function):
    """``translate(v, bias)`` of points ``[n, d]`` and a bias ``[d]`` or ``[n, d]``."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, bias: Tensor, c: Tensor) -> Tensor:
        """Keep the inputs: the backward pass computes again what is cheaper than to store."""
        rows, d = v.shape
        out = torch.empty_like(v, memory_format=torch.contiguous_format)
        if rows:
            _translate_forward[programs(rows)](
                whole(v), whole(bias), c, zeros_on(v.device), out, rows, d,
                SHARED=bias.dim() == 1, **tile(d),
            )  # fmt: skip
        ctx.save_for_backward(v, bias, c)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, bias and c; a shared bias adds up program by program."""
        v, bias, c = ctx.saved_tensors
        rows, d = v.shape
        shared = bias.dim() == 1
        v, bias = whole(v), whole(bias)
        grad_v, moment = torch.empty_like(v), doubles(v, rows)
        grid = programs(rows)
        grad_bias = doubles(v, grid[0], d) if shared else torch.empty_like(bias)
        if rows:
            _translate_backward[grid](
                v, bias, c, zeros_on(v.device), whole(grad_out), grad_v, grad_bias, moment,
                rows, d, SHARED=shared, **tile(d),
            )  # fmt: skip
        if shared:
            grad_bias = grad_bias.sum(0).to(bias.dtype)
        return grad_v, grad_bias, curvature_gradient(moment, c)
