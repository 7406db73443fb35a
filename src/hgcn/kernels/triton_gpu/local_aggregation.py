"""Local aggregation as an autograd function over ``local_forward`` and ``local_backward``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.triton_gpu.local_backward import (
    EDGE_COLUMNS,
    columns_backward,
    edges_backward,
    sources_backward,
    targets_backward,
)
from hgcn.kernels.triton_gpu.local_forward import local_steps
from hgcn.kernels.triton_gpu.points import polar_form
from hgcn.kernels.triton_gpu.rows import SEGMENT, by_source, by_target, fold
from hgcn.kernels.triton_gpu.tiles import (
    curvature_gradient,
    doubles,
    edge_tile,
    point_tile,
    programs,
    whole,
    zeros_on,
)
from hgcn.kernels.triton_gpu.translation import translated, translated_backward

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
        one = source is target
        target = whole(target)
        source = target if one else whole(source)
        targets = polar_form(target, c)
        sources = targets if one else polar_form(source, c)
        rows, (count, d) = by_target(graph), target.shape
        step = target.new_empty(rows.segments, d)
        if count:
            local_steps[rows.segments,](
                *targets, *sources, whole(weight), rows.other, step, *rows.layout, d,
                SEGMENT=SEGMENT, **edge_tile(d, target),
            )  # fmt: skip
        step = fold(step, rows)
        ctx.save_for_backward(target, source, weight, c, step, *targets, *sources)
        ctx.graph, ctx.same, ctx.one = graph, same, one
        return translated(target, step, c, units=True)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by targets, sources, weights and c; those of one set of nodes are added."""
        target, source, weight, c, step, *points = ctx.saved_tensors
        same, one, rows, columns = ctx.same, ctx.one, by_target(ctx.graph), by_source(ctx.graph)
        (count, d), zeros = target.shape, zeros_on(target.device)
        edges, points_of = edge_tile(d, target), point_tile(d, target)
        grad_target, grad_step, moment = translated_backward(
            target, step, c, whole(grad_out), units=True
        )
        grad_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
        by_edge = weight.new_empty(len(weight), EDGE_COLUMNS)
        column_moment = doubles(source, columns.size)
        turn, numbers = target.new_empty(rows.segments, d), target.new_empty(rows.segments, 2)
        if count:
            edges_backward[rows.segments,](
                *points, whole(weight), rows.other, grad_step, grad_weight, by_edge, turn, numbers,
                *rows.layout, d, SAME=same, SEGMENT=SEGMENT, **edges,
            )  # fmt: skip
            targets_backward[programs(count)](
                target, c, zeros, grad_step, fold(turn, rows), fold(numbers, rows), grad_target,
                moment, count, d, **points_of,
            )  # fmt: skip
        turn, numbers = source.new_empty(columns.segments, d), source.new_empty(columns.segments, 1)
        grad_source = grad_target if one else torch.empty_like(source)
        if columns.size:
            columns_backward[columns.segments,](
                points[0], grad_step, by_edge, columns.other, columns.edge, turn, numbers,
                *columns.layout, d, SEGMENT=SEGMENT, **edges,
            )  # fmt: skip
            sources_backward[programs(columns.size)](
                source, c, zeros, fold(turn, columns), fold(numbers, columns), grad_source,
                column_moment, columns.size, d, ADDED=one, **points_of,
            )  # fmt: skip
        grad_c = curvature_gradient(torch.cat((moment, column_moment)), c)
        return grad_target, None if one else grad_source, grad_weight, grad_c, None, None
