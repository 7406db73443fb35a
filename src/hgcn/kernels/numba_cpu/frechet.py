"""The Fréchet mean of each neighbourhood, over :mod:`.newton`, with its implicit gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.local_aggregation import aggregate, edges_of
from hgcn.kernels.numba_cpu.local_backward import (
    EDGE_COLUMNS,
    local_backward_columns,
    local_backward_rows,
)
from hgcn.kernels.numba_cpu.newton import newton_rows
from hgcn.kernels.numba_cpu.points import Points, polar_form
from hgcn.kernels.numba_cpu.tensors import array, bounds_of, curvature_gradient, empty, root_of
from hgcn.kernels.numba_cpu.translation import walk
from hgcn.kernels.numba_cpu.translation_backward import translate_backward
from hgcn.kernels.rows import Doubles

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

MOST_STEPS = 64
CLOSE = {torch.float32: 3e-4, torch.float64: 1e-6}
"""The length of the last step, in curvature radii: the error after it is about its square."""
SOLVED = {torch.float32: 1e-8, torch.float64: 1e-13}
"""How much of a gradient is left unsolved."""


class FrechetMean(torch.autograd.Function):
    """The Fréchet mean of the sources of all targets; a target without weights stays."""

    @staticmethod
    def forward(
        ctx: Any, target: Tensor, source: Tensor, weight: Tensor, c: Tensor, graph: Neighbourhoods
    ) -> Tensor:
        """Search from the centroid on, until no row takes a step."""
        start, _ = aggregate(target, source, weight, c, graph, same=False, central=True)
        at, root, edges = array(start.double()), root_of(c), edges_of(graph, weight)
        sources = _points(array(source), root)
        length, step = np.full(len(at), np.inf), np.empty(at.shape)
        for _ in range(MOST_STEPS):
            given = _points(at, root), sources, edges, False, CLOSE[target.dtype], length, step
            in_chunks(newton_rows, len(edges.bounds) - 1, *given)
            walk(at, step, 1.0, root, at)
            if not length.any():
                break
        mean = torch.from_numpy(at)
        ctx.save_for_backward(mean, source, weight, c)
        ctx.graph = graph
        return mean.to(target.dtype)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by sources, weights and c; ``docs/kernels.md``, section 4."""
        mean, source, weight, c = ctx.saved_tensors
        at, root, columns = mean.numpy(), root_of(c), ctx.graph.by_source
        targets, sources = _points(at, root), _points(array(source), root)
        edges = edges_of(ctx.graph, weight)
        by_step, walked = _gradient_by_step(at, root, grad_out)
        solved = targets, sources, edges, True, SOLVED[source.dtype], np.empty(0), by_step
        in_chunks(newton_rows, len(edges.bounds) - 1, *solved)
        grad_source, grad_weight, grad_step = empty(source), empty(weight), np.empty_like(at)
        by_source, grad_at = np.empty(EDGE_COLUMNS * len(weight)), np.empty_like(at)
        moments = [np.empty(len(rows.bounds) - 1) for rows in (edges, columns)]
        in_chunks(
            local_backward_rows, len(moments[0]), targets, sources, edges, False, root, None, None,
            by_step, grad_at, grad_step, grad_weight.numpy(), by_source, moments[0],
        )  # fmt: skip
        in_chunks(
            local_backward_columns, len(moments[1]), at, sources.vector, columns, root, False,
            grad_step, by_source, grad_source.numpy(), moments[1],
        )  # fmt: skip
        # The gradients by the mean, of a step from it and of the logarithms, cancel.
        grad_c = curvature_gradient(np.concatenate((walked, *moments)), c)
        return None, grad_source, grad_weight, grad_c, None


def _points(vector: Any, root: float) -> Points:
    return Points(vector, polar_form(vector, root))


def _gradient_by_step(at: Doubles, root: float, grad_out: Tensor) -> tuple[Doubles, Doubles]:
    """The gradient by a step from the mean, in units of the curvature radius; and the moment."""
    bounds, step, by_step = bounds_of(len(at)), np.zeros(at.shape), np.empty(at.shape)
    moment, shared = np.empty(len(bounds) - 1), np.empty((len(bounds) - 1, at.shape[1]))
    in_chunks(
        translate_backward, len(moment), at, step, root, bounds, array(grad_out),
        np.empty_like(at), by_step, shared, moment,
    )  # fmt: skip
    if len(at) == 1:  # one step is taken to be that of all points
        by_step[0] = shared.sum(0)
    return by_step / root, moment
