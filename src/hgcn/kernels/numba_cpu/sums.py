"""Weighted sums over neighbourhoods, forward and backward (``docs/kernels.md``, section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.instructions import add_rows, at, dot_narrow, prefetch, put
from hgcn.kernels.numba_cpu.lanes import BLOCK
from hgcn.kernels.numba_cpu.points import AHEAD
from hgcn.kernels.numba_cpu.tensors import array, empty
from hgcn.kernels.rows import Floats, Rows

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

FEW = 8
"""Number of edges for each source and chunk of rows from which on each chunk has its own sum."""


@compiled(error_model="numpy", nogil=True)
def sum_over_rows(
    first_chunk: int, last_chunk: int, x: Floats, weight: Floats, rows: Rows, in_order: bool,
    out: Floats,
) -> None:  # fmt: skip
    """out_i = sum of weights times x_other over row i.

    The weights are in the order of the rows if ``in_order``, else in that of ``rows.edge``.
    """
    start, other, edge, bounds = rows.start, rows.other, rows.edge, rows.bounds
    final = len(other) - 1
    for chunk in range(first_chunk, last_chunk):
        factors = np.empty(BLOCK, x.dtype)
        out[bounds[chunk] : bounds[chunk + 1]] = 0
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for lo in range(start[i], start[i + 1], BLOCK):
                hi = min(lo + BLOCK, start[i + 1])
                for position in range(lo, hi):
                    soon = min(position + AHEAD, final)
                    prefetch(x, at(other, soon))
                    if in_order:
                        put(factors, position - lo, at(weight, position))
                    else:
                        prefetch(weight, at(edge, soon))
                        put(factors, position - lo, at(weight, at(edge, position)))
                add_rows(out, i, x, other, lo, hi - lo, factors, 0, 0)


@compiled(error_model="numpy", nogil=True)
def sum_into_few(
    first_chunk: int, last_chunk: int, x: Floats, weight: Floats, rows: Rows, out: Floats
) -> None:
    """out[chunk, j] = sum of weight[e] x_i over the edges from j to the rows i of the chunk.

    Everything is read in order; ``out[chunk]`` should be small enough to stay near the processor.
    """
    start, other, bounds = rows.start, rows.other, rows.bounds
    d = x.shape[1]
    for chunk in range(first_chunk, last_chunk):
        out[chunk] = 0
        mine = np.empty(d, x.dtype)
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for k in range(d):
                mine[k] = x[i, k]
            for e in range(start[i], start[i + 1]):
                w = weight[e]
                j = other[e]
                for k in range(d):
                    out[chunk, j, k] += w * mine[k]


@compiled(error_model="numpy", nogil=True)
def edge_products(
    first_chunk: int, last_chunk: int, x: Floats, y: Floats, rows: Rows, out: Floats
) -> None:
    """out_e = x_i . y_j for the edges in the order of the rows."""
    start, other, bounds = rows.start, rows.other, rows.bounds
    for chunk in range(first_chunk, last_chunk):
        end = start[bounds[chunk + 1]] - 1
        for i in range(bounds[chunk], bounds[chunk + 1]):
            for e in range(start[i], start[i + 1]):
                prefetch(y, at(other, min(e + AHEAD, end)))
                put(out, e, dot_narrow(x, i, y, at(other, e)))


class WeightedSum(torch.autograd.Function):
    """``sum_j w_ij x_j`` for all targets i."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
        """Keep the inputs."""
        out = x.new_empty(graph.num_targets, x.shape[1])
        rows, given = graph.by_target, (array(x), array(weight))
        in_chunks(sum_over_rows, len(rows.bounds) - 1, *given, rows, True, out.numpy())
        ctx.save_for_backward(x, weight)
        ctx.graph = graph
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient by x, and by the weights if it is asked for."""
        x, weight = ctx.saved_tensors
        rows = ctx.graph.by_target
        grad = array(grad_out)
        chunks = len(rows.bounds) - 1
        if FEW * chunks * len(x) <= len(weight):
            # Many edges from few sources, such as words of documents: a sum for each chunk.
            sums = x.new_empty(chunks, *x.shape)
            in_chunks(sum_into_few, chunks, grad, array(weight), rows, sums.numpy())
            grad_x = sums.sum(0)
        else:
            grad_x = empty(x)
            columns = ctx.graph.by_source
            in_chunks(
                sum_over_rows, len(columns.bounds) - 1, grad, array(weight), columns, False,
                grad_x.numpy(),
            )  # fmt: skip
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = empty(weight)
            in_chunks(edge_products, chunks, grad, array(x), rows, grad_weight.numpy())
        return grad_x, grad_weight, None
