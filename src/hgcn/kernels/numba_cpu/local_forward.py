"""Aggregation as seen from each point: the paper's mean of local logarithms, and a centroid step.

The logarithm of v_j at v_i is ``kappa (along u_i + sinh(rho_j) (u_j - u_i)) / sqrt(c)``, with
``along = sinh(rho_j - rho_i) - 2 s sinh(rho_j) (cosh(rho_i) - 1)``. See ``docs/kernels.md``,
section 4. Without ``kappa`` the same sum, over that of ``cosh(D)``, leads to the Lorentz centroid.
"""

from __future__ import annotations

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.centroid_step import centroid_step
from hgcn.kernels.numba_cpu.edges import EdgeBlock, WeightedEdges, load_edges
from hgcn.kernels.numba_cpu.points import (
    BLOCK,
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    SINH,
    Points,
)
from hgcn.kernels.numba_cpu.scalars import kappa_of
from hgcn.kernels.numba_cpu.translation_block import translate_block
from hgcn.kernels.rows import Doubles, Floats


@compiled(error_model="numpy", nogil=True)
def local_forward(
    first_chunk: int, last_chunk: int, targets: Points, sources: Points, edges: WeightedEdges,
    root: float, central: bool, step: Doubles, time: Doubles, out: Floats,
) -> None:  # fmt: skip
    """The aggregation at the targets of their neighbours among the sources.

    ``step`` gets the sum of local logarithms of each row times ``root``, for the backward pass. If
    ``central`` it gets the logarithm of the Lorentz centroid, and ``time`` the sum of ``cosh(D)``.
    """
    x, polar, start, bounds = targets.vector, targets.polar, edges.start, edges.bounds
    target, weight = edges.target, edges.weight
    d = x.shape[1]
    for chunk in range(first_chunk, last_chunk):
        # Made here, so that the compiler knows that these arrays do not overlap.
        edge, difference, s = np.empty(BLOCK, np.int64), np.empty((BLOCK, d)), np.empty(BLOCK)
        polar_i, polar_j = np.empty((BLOCK, COLUMNS)), np.empty((BLOCK, COLUMNS))
        block = EdgeBlock(edge, difference, s, polar_i, polar_j)
        of_u, of_difference, along = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        cosh = np.empty(BLOCK)
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            along[:] = 0.0
            step[first:last] = 0.0
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                count = load_edges(targets, sources, edges, lo, hi, block)
                for b in range(count):
                    p_i, f_i, sinh_i = polar_i[b, GROWTH], polar_i[b, DECAY], polar_i[b, SINH]
                    p_j, f_j, sinh_j = polar_j[b, GROWTH], polar_j[b, DECAY], polar_j[b, SINH]
                    sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
                    cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    half_i = p_i * (1.0 + f_i)  # 2 sinh(rho_i/2)
                    h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j * s[b]
                    cosh[b] = 1.0 + 2.0 * h
                    kappa = 1.0 if central else kappa_of(h)[0]
                    sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
                    of_u[b] = kappa * (sinh_gap - s[b] * sinh_j * half_i * half_i)
                    of_difference[b] = kappa * sinh_j
                for b in range(count):
                    i, w = target[edge[b]], weight[edge[b]]
                    along[i - first] += w * of_u[b]
                    scaled = w * of_difference[b]
                    for k in range(d):
                        step[i, k] += scaled * difference[b, k]
                if central:
                    for b in range(count):
                        time[target[edge[b]]] += weight[edge[b]] * cosh[b]
            for i in range(first, last):
                scaled = along[i - first] * polar[i, INVERSE_LENGTH]
                for k in range(d):
                    step[i, k] += scaled * x[i, k]
                if central:
                    centroid_step(step, i, time[i])
            translate_block(
                x[first:last], polar[first:last], step[first:last], root, out[first:last]
            )
