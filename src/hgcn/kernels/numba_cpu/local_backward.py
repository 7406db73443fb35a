"""The backward pass of the local aggregation: one pass over rows, one over columns.

The pass over rows computes all formulas of an edge. It finishes the gradients by the weights and
by the target i, and leaves three numbers of each edge. The pass over columns only adds up, for each
source j, these numbers times rows of vectors. So each sum has one owner and a fixed order.

``P_i`` is the gradient by the step of row i. The formulas are derived in ``docs/kernels.md``,
section 4, with the names of this file.
"""

from __future__ import annotations

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.centroid_step import centroid_step_backward
from hgcn.kernels.numba_cpu.edges import EdgeBlock, WeightedEdges, load_edges
from hgcn.kernels.numba_cpu.instructions import dot, prefetch
from hgcn.kernels.numba_cpu.points import (
    AHEAD,
    BLOCK,
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    RADIUS,
    SINH,
    SINHC,
    Points,
    gradient_by_vector,
)
from hgcn.kernels.numba_cpu.scalars import kappa_of
from hgcn.kernels.numba_cpu.translation_block import translate_block_backward
from hgcn.kernels.rows import Doubles, Floats, Rows

EDGE_COLUMNS = 3
OF_STEP, OF_X, BY_RHO = range(EDGE_COLUMNS)
"""Columns of ``by_source``: factors of P_i and x_i in the gradient by u_j; gradient by rho_j."""


@compiled(error_model="numpy", nogil=True)
def local_backward_rows(
    first_chunk: int,
    last_chunk: int,
    targets: Points,
    sources: Points,
    edges: WeightedEdges,
    root: float,
    central: bool,
    step: Doubles,
    time: Doubles,
    grad_out: Floats,
    grad_x: Floats,
    grad_step: Floats,
    grad_weight: Floats,
    by_source: Floats,
    moment: Doubles,
) -> None:
    """Gradients by the targets, by the weights, and by the step of each row, which is P.

    ``by_source`` gets the numbers of each edge for the pass over columns, ``moment`` for each chunk
    the sum of inputs times their gradients, minus that of outputs.
    """
    x, polar, radial = targets.vector, targets.polar, targets.radial
    start, target, weight, bounds = edges.start, edges.target, edges.weight, edges.bounds
    d = x.shape[1]
    for chunk in range(first_chunk, last_chunk):
        # Made here, so that the compiler knows that these arrays do not overlap.
        edge, difference, s = np.empty(BLOCK, np.int64), np.empty((BLOCK, d)), np.empty(BLOCK)
        polar_i, polar_j = np.empty((BLOCK, COLUMNS)), np.empty((BLOCK, COLUMNS))
        block = EdgeBlock(edge, difference, s, polar_i, polar_j)
        step_u, step_difference, w = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        by_weight, by_rho_i, by_rho_j = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        turn_of_step, turn_of_difference = np.empty(BLOCK), np.empty(BLOCK)
        source_of_step, source_of_x = np.empty(BLOCK), np.empty(BLOCK)
        row_step_u, row_by_rho, row_of_step = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        row_by_time, by_time = np.empty(BLOCK), np.empty(BLOCK)
        by_step, by_x, turn = np.empty((BLOCK, d)), np.empty((BLOCK, d)), np.empty((BLOCK, d))
        total = 0.0
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            total += translate_block_backward(
                x[first:last], polar[first:last], radial[first:last], step[first:last], root,
                grad_out[first:last], by_step, by_x,
            )  # fmt: skip
            row_by_time[:] = 0.0
            if central:
                for i in range(first, last):
                    row_by_time[i - first] = centroid_step_backward(
                        step, i, time[i], by_step, i - first
                    )
            row_by_rho[:] = 0.0
            row_of_step[:] = 0.0
            turn[:] = 0.0
            for i in range(first, last):
                row_step_u[i - first] = dot(by_step, i - first, x, i) * polar[i, INVERSE_LENGTH]
                for k in range(d):
                    grad_step[i, k] = by_step[i - first, k]
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                count = load_edges(targets, sources, edges, lo, hi, block)
                if count < hi - lo:
                    grad_weight[lo:hi] = 0.0  # for the self-loops that are left out
                for b in range(count):
                    row = target[edge[b]] - first
                    step_difference[b] = dot(difference, b, by_step, row)
                    step_u[b], w[b] = row_step_u[row], weight[edge[b]]
                    by_time[b] = row_by_time[row]
                for b in range(count):
                    p_i, f_i, sinh_i = polar_i[b, GROWTH], polar_i[b, DECAY], polar_i[b, SINH]
                    p_j, f_j, sinh_j = polar_j[b, GROWTH], polar_j[b, DECAY], polar_j[b, SINH]
                    sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
                    cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
                    cosh_gap = 1.0 + 2.0 * sinh_half_gap * sinh_half_gap
                    half_i, half_j = p_i * (1.0 + f_i), p_j * (1.0 + f_j)  # 2 sinh(rho/2)
                    cosh_i_1 = 0.5 * half_i * half_i  # cosh(rho_i) - 1
                    cosh_j = 1.0 + 0.5 * half_j * half_j
                    tanh_half_i = half_i / (1.0 + p_i + f_i)
                    sinh_j_s = sinh_j * s[b]
                    h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j_s
                    kappa, kappa_h = (1.0, 0.0) if central else kappa_of(h)
                    # The product of P_i and the logarithm, without kappa.
                    along = sinh_gap - 2.0 * sinh_j_s * cosh_i_1
                    product = along * step_u[b] + sinh_j * step_difference[b]
                    by_h = w[b] * (kappa_h * product + 2.0 * by_time[b])
                    w_kappa = w[b] * kappa
                    by_along = w_kappa * step_u[b]
                    by_weight[b] = kappa * product + (1.0 + 2.0 * h) * by_time[b]
                    by_rho_i[b] = by_h * ((1.0 + cosh_i_1) * sinh_j_s - 0.5 * sinh_gap)
                    by_rho_i[b] -= by_along * (cosh_gap + 2.0 * sinh_i * sinh_j_s)
                    by_rho_j[b] = by_h * (0.5 * sinh_gap + sinh_i * cosh_j * s[b])
                    by_rho_j[b] += by_along * (cosh_gap - 2.0 * s[b] * cosh_j * cosh_i_1)
                    by_rho_j[b] += w_kappa * cosh_j * step_difference[b]
                    # cosh(rho_j - rho_i/2) + 2 s sinh(rho_j) sinh(rho_i/2)
                    up, down = (1.0 + p_j) * (1.0 + p_j) * f_i, f_j * f_j * (1.0 + p_i)
                    turn_of_step[b] = w_kappa * (0.5 * (up + down) + sinh_j_s * half_i)
                    turn_of_difference[b] = sinh_j * (by_along * tanh_half_i - 0.5 * by_h)
                    source_of_step[b] = w_kappa
                    of_u_i = by_along * cosh_i_1 - 0.5 * by_h * sinh_i
                    source_of_x[b] = of_u_i * polar_i[b, INVERSE_LENGTH]
                for b in range(count):
                    e = edge[b]
                    i = target[e]
                    row = i - first
                    grad_weight[e] = by_weight[b]
                    by_source[e, OF_STEP], by_source[e, OF_X] = source_of_step[b], source_of_x[b]
                    by_source[e, BY_RHO] = by_rho_j[b]
                    row_by_rho[row] += by_rho_i[b]
                    row_of_step[row] += turn_of_step[b]
                    scaled = turn_of_difference[b] * radial[i, SINHC]
                    for k in range(d):
                        turn[row, k] += scaled * difference[b, k]
            for i in range(first, last):
                row, rho = i - first, radial[i, RADIUS]
                half = polar[i, GROWTH] * (1.0 + polar[i, DECAY])  # 2 sinh(rho/2)
                of_step = -row_of_step[row] * (half / rho if rho > 0.0 else 1.0)
                turn_u = dot(turn, row, x, i) * polar[i, INVERSE_LENGTH] + of_step * row_step_u[row]
                of_v, of_turn, product = gradient_by_vector(
                    polar, radial, i, root, row_by_rho[row], turn_u
                )
                total += product
                of_step *= of_turn
                for k in range(d):
                    value = by_x[row, k] + of_step * by_step[row, k]
                    grad_x[i, k] = value + of_v * x[i, k] + of_turn * turn[row, k]
        moment[chunk] = total


@compiled(error_model="numpy", nogil=True)
def local_backward_columns(
    first_chunk: int,
    last_chunk: int,
    x: Floats,
    sources: Points,
    columns: Rows,
    root: float,
    same: bool,
    added: bool,
    grad_step: Floats,
    by_source: Floats,
    grad_y: Floats,
    moment: Doubles,
) -> None:
    """Gradient by the sources; if ``added``, to that of the targets, which is in ``grad_y``."""
    y, polar, radial = sources.vector, sources.polar, sources.radial
    start, other, edge, bounds = columns.start, columns.other, columns.edge, columns.bounds
    d = x.shape[1]
    for chunk in range(first_chunk, last_chunk):
        turn = np.empty((1, d))
        total = 0.0
        end = start[bounds[chunk + 1]] - 1
        for j in range(bounds[chunk], bounds[chunk + 1]):
            turn[:] = 0.0
            by_rho = 0.0
            for position in range(start[j], start[j + 1]):
                soon = min(position + AHEAD, end)
                prefetch(by_source, edge[soon])
                prefetch(grad_step, other[soon])
                prefetch(x, other[soon])
                i = other[position]
                if same and i == j:
                    continue
                e = edge[position]
                of_step, of_x = np.float64(by_source[e, OF_STEP]), np.float64(by_source[e, OF_X])
                by_rho += by_source[e, BY_RHO]
                for k in range(d):
                    turn[0, k] += of_step * grad_step[i, k] + of_x * x[i, k]
            turn_u = dot(turn, 0, y, j) * radial[j, SINHC] * polar[j, INVERSE_LENGTH]
            of_v, of_turn, product = gradient_by_vector(polar, radial, j, root, by_rho, turn_u)
            total += product
            of_turn *= radial[j, SINHC]
            for k in range(d):
                before = grad_y[j, k] if added else 0.0
                grad_y[j, k] = before + of_v * y[j, k] + of_turn * turn[0, k]
        moment[chunk] = total
