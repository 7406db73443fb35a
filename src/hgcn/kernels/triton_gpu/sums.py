"""Weighted sums over neighbourhoods, forward and backward (``docs/kernels.md``, section 9)."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton.language as tl
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.triton_gpu.points import load_rows
from hgcn.kernels.triton_gpu.rows import SEGMENT, DeviceRows, by_source, by_target, fold, segment_of
from hgcn.kernels.triton_gpu.tiles import (
    edge_tile,
    kernel,
    point_tile,
    programs,
    rows_of_program,
    whole,
)

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


@kernel
def _sum_over_segments(
    x, weight, other, edge, out, start, further, owner, count, d,
    SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """out_program = sum of weight[edge] x_other over a segment."""
    _, low, high = segment_of(start, further, owner, count, SEGMENT)
    column = tl.program_id(1) * D + tl.arange(0, D)
    total = tl.zeros([D], x.dtype.element_ty)
    for first in range(low, high, TILE):
        position = first + tl.arange(0, TILE)
        inside = position < high
        j = tl.load(other + position, mask=inside, other=0).to(tl.int64)
        w = tl.load(weight + tl.load(edge + position, mask=inside, other=0), mask=inside, other=0.0)
        here = inside[:, None] & (column < d)[None, :]
        rows = tl.load(x + j[:, None] * d + column[None, :], mask=here, other=0.0)
        total += tl.sum(w[:, None] * rows, 0)
    tl.store(out + tl.program_id(0).to(tl.int64) * d + column, total, mask=column < d)


@kernel
def _edge_products(
    x, y, target, source, out, edges, d, TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """out_e = x_i . y_j."""
    e = rows_of_program(TILE)
    inside = e < edges
    i = tl.load(target + e, mask=inside, other=0)
    j = tl.load(source + e, mask=inside, other=0)
    product = tl.zeros([TILE], x.dtype.element_ty)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        # Rows outside were given number 0, which is there wherever there is an edge.
        left = load_rows(x, i, 1 << 62, column, d)
        product += tl.sum(left * load_rows(y, j, 1 << 62, column, d), 1)
    tl.store(out + e, product, mask=inside)


def sum_over_rows(x: Tensor, weight: Tensor, rows: DeviceRows) -> Tensor:
    """out_i = sum of weight[edge] x_other over row i; any number of columns."""
    d = x.shape[1]
    out = x.new_empty(rows.segments, d)
    if out.numel():
        options = edge_tile(min(d, 64), x)
        grid = (rows.segments, -(-d // options["D"]))
        _sum_over_segments[grid](
            x, weight, rows.other, rows.edge, out, *rows.layout, d, SEGMENT=SEGMENT, **options
        )
    return fold(out, rows)


class WeightedSum(torch.autograd.Function):
    """``sum_j w_ij x_j`` for all targets i."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
        """Keep the inputs."""
        ctx.save_for_backward(x, weight)
        ctx.graph = graph
        return sum_over_rows(whole(x), whole(weight), by_target(graph))

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient by x, and by the weights if it is asked for."""
        x, weight = ctx.saved_tensors
        graph, grad = ctx.graph, whole(grad_out)
        grad_x = sum_over_rows(grad, whole(weight), by_source(graph))
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
            edges, d = len(weight), x.shape[1]
            if edges:
                _edge_products[programs(edges)](
                    grad, whole(x), graph.target, graph.source, grad_weight, edges, d,
                    **point_tile(d, x),
                )  # fmt: skip
        return grad_x, grad_weight, None
