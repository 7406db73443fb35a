"""Local aggregation as an autograd function over :mod:`.local_forward`, :mod:`.local_backward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.edges import WeightedEdges
from hgcn.kernels.numba_cpu.local_backward import (
    EDGE_COLUMNS,
    local_backward_columns,
    local_backward_rows,
)
from hgcn.kernels.numba_cpu.local_forward import local_forward
from hgcn.kernels.numba_cpu.points import Points, polar_form
from hgcn.kernels.numba_cpu.tensors import array, curvature_gradient, empty, root_of

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


class LocalSum(torch.autograd.Function):
    """``translate(v_i, sum_j w_ij local_log(v_i, v_j))`` for all targets i."""

    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods,
        same: bool,
    ) -> Tensor:  # fmt: skip
        """Keep the polar forms and the steps; the numbers of edges are computed again."""
        root = root_of(c)
        sources = Points(array(source), *polar_form(array(source), root))
        targets = sources
        if same and source is not target:
            n = len(target)
            targets = Points(sources.vector[:n], sources.polar[:n], sources.radial[:n])
        elif not same:
            targets = Points(array(target), *polar_form(array(target), root))
        edges = _edges(graph, weight, same)
        out, step = empty(target), np.empty(target.shape)
        chunks = len(edges.bounds) - 1
        in_chunks(local_forward, chunks, targets, sources, edges, root, step, out.numpy())
        ctx.save_for_backward(target, source, weight, c)
        ctx.graph, ctx.same, ctx.whole, ctx.step = graph, same, source is target, step
        ctx.numbers = targets[1:], sources[1:]
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by targets, sources, weights and c; those of one set of nodes are added."""
        target, source, weight, c = ctx.saved_tensors
        root, graph, same, whole = root_of(c), ctx.graph, ctx.same, ctx.whole
        rows, columns = graph.by_target, graph.by_source
        targets = Points(array(target), *ctx.numbers[0])
        sources = Points(array(source), *ctx.numbers[1])
        grad_target, grad_weight, grad_step = empty(target), empty(weight), empty(target)
        grad_source = grad_target if whole else empty(source)
        by_source = weight.new_empty(len(weight), EDGE_COLUMNS)
        moment = np.empty(len(rows.bounds) + len(columns.bounds) - 2)
        row_moment, column_moment = np.split(moment, [len(rows.bounds) - 1])
        edges = _edges(graph, weight, same)
        in_chunks(
            local_backward_rows, len(row_moment), targets, sources, edges, root, ctx.step,
            array(grad_out), grad_target.numpy(), grad_step.numpy(), grad_weight.numpy(),
            by_source.numpy(), row_moment,
        )  # fmt: skip
        in_chunks(
            local_backward_columns, len(column_moment), targets.vector, sources, columns, root,
            same, whole, grad_step.numpy(), by_source.numpy(), grad_source.numpy(), column_moment,
        )  # fmt: skip
        grad_c = curvature_gradient(moment, c)
        return grad_target, None if whole else grad_source, grad_weight, grad_c, None, None


def _edges(graph: Neighbourhoods, weight: Tensor, same: bool) -> WeightedEdges:
    rows = graph.by_target
    return WeightedEdges(
        rows.start, graph.target.numpy(), rows.other, array(weight), same, rows.bounds
    )
