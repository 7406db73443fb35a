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
        ctx.save_for_backward(x, weight)
        ctx.graph = graph
        return total(x, weight, graph)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient by x, and by the weights if it is asked for."""
        x, weight = ctx.saved_tensors
        grad_x, grad_weight = total_back(weight, grad_out, ctx.graph), None
        if ctx.needs_input_grad[1]:
            rows, grad_weight = ctx.graph.by_target, empty(weight)
            given = array(grad_out), array(x), rows
            in_chunks(edge_products, len(rows.bounds) - 1, *given, grad_weight.numpy())
        return grad_x, grad_weight, None


def total(x: Tensor, weight: Tensor, graph: Neighbourhoods) -> Tensor:
    """The weighted sums."""
    out, rows = x.new_empty(graph.num_targets, x.shape[1]), graph.by_target
    given = array(x), array(weight), rows
    in_chunks(sum_over_rows, len(rows.bounds) - 1, *given, True, out.numpy())
    return out


def total_back(weight: Tensor, grad_out: Tensor, graph: Neighbourhoods) -> Tensor:
    """The gradient by x."""
    rows, grad, sources = graph.by_target, array(grad_out), graph.num_sources
    chunks = len(rows.bounds) - 1
    if FEW * chunks * sources <= len(weight):
        # Many edges from few sources, such as words of documents: a sum for each chunk.
        sums = grad_out.new_empty(chunks, sources, grad_out.shape[1])
        in_chunks(sum_into_few, chunks, grad, array(weight), rows, sums.numpy())
        return sums.sum(0)
    out, columns = grad_out.new_empty(sources, grad_out.shape[1]), graph.by_source
    given = grad, array(weight), columns
    in_chunks(sum_over_rows, len(columns.bounds) - 1, *given, False, out.numpy())
    return out
