"""Local aggregation and centroids, over :mod:`.local_forward` and :mod:`.local_backward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.centroid_step import centroid_steps
from hgcn.kernels.numba_cpu.edges import WeightedEdges
from hgcn.kernels.numba_cpu.local_backward import (
    EDGE_COLUMNS,
    local_backward_columns,
    local_backward_rows,
)
from hgcn.kernels.numba_cpu.local_forward import local_forward
from hgcn.kernels.numba_cpu.points import Points, polar_form
from hgcn.kernels.numba_cpu.tensors import array, curvature_gradient, empty, root_of
from hgcn.kernels.numba_cpu.translation import walk

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


class LocalSum(torch.autograd.Function):
    """``translate(v_i, sum_j w_ij local_log(v_i, v_j))`` for all targets i."""

    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods,
        same: bool,
    ) -> Tensor:  # fmt: skip
        """Keep the steps; the polar forms and the numbers of edges are computed again."""
        out, steps = aggregate(target, source, weight, c, graph, same=same, central=False)
        ctx.save_for_backward(target, source, weight, c, *steps)
        ctx.graph, ctx.same, ctx.whole = graph, same, source is target
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by targets, sources, weights and c; those of one set of nodes are added."""
        kinds = {"same": ctx.same, "whole": ctx.whole}
        given = ctx.saved_tensors, ctx.graph, grad_out
        return *aggregate_back(*given, **kinds), None, None


class Centroid(torch.autograd.Function):
    """The Lorentz centroid of the sources of all targets."""

    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
    ) -> Tensor:
        """See it from the targets, then from there: it does not depend on the viewpoint."""
        at, _ = aggregate(target, source, weight, c, graph, same=False, central=True)
        out, steps = aggregate(at, source, weight, c, graph, same=False, central=True)
        ctx.save_for_backward(at, source, weight, c, *steps)
        ctx.graph = graph
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by sources, weights and c."""
        given = ctx.saved_tensors, ctx.graph, grad_out
        _, *gradients = aggregate_back(*given, same=False, whole=False)
        return None, *gradients, None


def aggregate(
    target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods, *,
    same: bool, central: bool,
) -> tuple[Tensor, list[Tensor | None]]:  # fmt: skip
    """The result, the step that leads to it, and the sum of cosh(D) where it is needed."""
    root = root_of(c)
    targets, sources = _points(target, source, root, same)
    edges = edges_of(graph, weight)
    step = target.new_empty(target.shape, dtype=torch.float64)
    time = step.new_zeros(len(target)) if central else None
    in_chunks(
        local_forward, len(edges.bounds) - 1, targets, sources, edges, step.numpy(),
        None if time is None else time.numpy(),
    )  # fmt: skip
    if time is not None:
        in_chunks(centroid_steps, len(target), step.numpy(), time.numpy())
    out = empty(target)
    walk(targets.vector, step.numpy(), 1.0, root, out.numpy())
    return out, [step, time]


def aggregate_back(
    saved: tuple[Any, ...], graph: Neighbourhoods, grad_out: Tensor, *,
    same: bool, whole: bool,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:  # fmt: skip
    """Gradients by targets, sources, weights and c; if ``whole``, sources are the targets."""
    target, source, weight, c, step, time = saved
    root, columns = root_of(c), graph.by_source
    targets, sources = _points(target, source, root, same)
    edges, grad_target, grad_weight = edges_of(graph, weight), empty(target), empty(weight)
    # Without kappa, gradients of points far apart are small sums of large terms.
    grad_step = empty(target if time is None else step)
    by_source = np.empty(EDGE_COLUMNS * len(weight), grad_step.numpy().dtype)
    moments = [np.empty(len(rows.bounds) - 1) for rows in (edges, columns)]
    in_chunks(
        local_backward_rows, len(moments[0]), targets, sources, edges, same, root, step.numpy(),
        None if time is None else time.numpy(), array(grad_out), grad_target.numpy(),
        grad_step.numpy(), grad_weight.numpy(), by_source, moments[0],
    )  # fmt: skip
    grad_source = grad_target if whole else empty(source)
    in_chunks(
        local_backward_columns, len(moments[1]), targets.vector, sources.vector, columns, root,
        whole, grad_step.numpy(), by_source, grad_source.numpy(), moments[1],
    )  # fmt: skip
    grad_c = curvature_gradient(np.concatenate(moments), c)
    return grad_target, None if whole else grad_source, grad_weight, grad_c


def _points(target: Tensor, source: Tensor, root: float, same: bool) -> tuple[Points, Points]:
    """The points of both sides; if they are one set, targets are the first of the sources."""
    vector = array(source)
    sources = Points(vector, polar_form(vector, root))
    if same:
        first = slice(len(target))
        return Points(vector[first], sources.polar[first]), sources
    vector = array(target)
    return Points(vector, polar_form(vector, root)), sources


def edges_of(graph: Neighbourhoods, weight: Tensor) -> WeightedEdges:
    """The edges as kernels take them."""
    rows = graph.by_target
    return WeightedEdges(rows.start, rows.other, array(weight), rows.bounds)
