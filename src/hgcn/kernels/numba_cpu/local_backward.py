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
from hgcn.kernels.numba_cpu.edges import (
    F_I,
    F_J,
    NUMBERS,
    P_I,
    P_J,
    SCALE,
    SINH_I,
    SINH_J,
    STEP_DIFFERENCE,
    S,
    WeightedEdges,
    load_edges,
)
from hgcn.kernels.numba_cpu.instructions import (
    add_differences,
    add_rows,
    at,
    combine,
    dot,
    note,
    number,
    prefetch,
    put,
    scale_row,
    spread,
)
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import (
    AHEAD,
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    RADIUS,
    SINHC,
    Points,
    find_polar,
    gradient_by_vector,
)
from hgcn.kernels.numba_cpu.scalars import kappa_of
from hgcn.kernels.numba_cpu.translation_backward import (
    MOMENT,
    T_OF_ACROSS,
    T_OF_GRAD,
    T_OF_V,
    V_OF_ACROSS,
    V_OF_GRAD,
    V_OF_V,
    translation_factors,
)
from hgcn.kernels.numba_cpu.translation_backward import NUMBERS as STEP_NUMBERS
from hgcn.kernels.rows import Doubles, Floats, Rows

EDGE_COLUMNS = 3
OF_STEP, OF_X, BY_RHO = range(EDGE_COLUMNS)
"""Columns of ``by_source``: factors of P_i and x_i in the gradient by u_j; gradient by rho_j."""

MORE = 10
(
    W, STEP_U, INVERSE_I, BY_TIME, BY_RHO_I, BY_RHO_J, TURN_OF_STEP, TURN_OF_DIFFERENCE,
    SOURCE_OF_STEP, SOURCE_OF_X,
) = range(NUMBERS, NUMBERS + MORE)  # fmt: skip
"""More numbers of an edge: the weight, zero for a node's edge to itself; three of the
target; and what the formulas give."""


@compiled(error_model="numpy", nogil=True)
def local_backward_rows(
    first_chunk: int,
    last_chunk: int,
    targets: Points,
    sources: Points,
    edges: WeightedEdges,
    same: bool,
    root: float,
    step: Doubles | None,
    time: Doubles | None,
    grad_out: Floats,
    grad_x: Floats,
    grad_step: Floats,
    grad_weight: Floats,
    by_source: Floats,
    moment: Doubles,
) -> None:
    """Gradients by the targets, by the weights, and by the step of each row, which is P.

    ``by_source``, a list, gets the numbers of each edge for the pass over columns, ``moment`` for
    each chunk the sum of inputs times their gradients, minus that of outputs. If targets and
    sources are the ``same`` nodes, a node's edge to itself has no effect. Without ``step``,
    ``grad_out`` is P itself.
    """
    x, polar, y = targets.vector, targets.polar, sources.vector
    start, source, bounds = edges.start, edges.source, edges.bounds
    weight, d = edges.weight, x.shape[1]
    for chunk in range(first_chunk, last_chunk):
        block, unit = np.empty((NUMBERS + MORE) * STRIDE), np.empty((1, d))
        row_step_u, row_by_rho, row_of_step = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        row_by_time, points = np.empty(BLOCK), np.empty(2 * COLUMNS * STRIDE)
        by_step, by_x, turn = np.empty((BLOCK, d)), np.empty((BLOCK, d)), np.empty((BLOCK, d))
        steps, across, total = np.empty(STEP_NUMBERS * STRIDE), np.empty((BLOCK, d)), 0.0
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            row_by_rho[:] = 0.0
            row_of_step[:] = 0.0
            turn[:] = 0.0
            if step is None:
                find_polar(x[first:last], root, points)
                by_x[:] = 0.0
            else:
                translation_factors(
                    x, points, step, 1.0, root, first, last, grad_out, across, steps
                )
            for i in range(first, last):
                row = i - first
                if step is None:
                    scale_row(by_step, row, grad_out, i, 1.0)
                else:
                    total += number(steps, MOMENT, row)
                    of_grad, of_v = number(steps, V_OF_GRAD, row), number(steps, V_OF_V, row)
                    of_across = number(steps, V_OF_ACROSS, row)
                    terms = (of_grad, grad_out, i), (of_v, x, i), (of_across, across, row)
                    combine(by_x, row, terms)
                    of_grad, of_v = number(steps, T_OF_GRAD, row), number(steps, T_OF_V, row)
                    of_across = number(steps, T_OF_ACROSS, row)
                    terms = (of_grad, grad_out, i), (of_v, x, i), (of_across, across, row)
                    combine(by_step, row, terms)
                    if time is not None:
                        row_by_time[row] = centroid_step_backward(step, i, time[i], by_step, row)
                row_step_u[row] = dot(by_step, row, x, i) * polar[i, INVERSE_LENGTH]
                scale_row(grad_step, i, by_step, row, 1.0)
            begin = first
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                while start[begin + 1] <= lo:
                    begin += 1
                load_edges(targets, sources, edges, begin, lo, hi, unit, block, by_step, first)
                i, e = begin, lo
                while e < hi:
                    end = min(hi, start[i + 1])
                    spread(block, STEP_U, e - lo, end - lo, row_step_u[i - first])
                    if time is not None:
                        spread(block, BY_TIME, e - lo, end - lo, row_by_time[i - first])
                    spread(block, INVERSE_I, e - lo, end - lo, polar[i, INVERSE_LENGTH])
                    for b in range(e - lo, end - lo):
                        itself = same and at(source, lo + b) == i
                        note(block, W, b, 0.0 if itself else at(weight, lo + b))
                    e = end
                    i += 1
                for b in range(hi - lo):
                    p_i, f_i, sinh_i = (
                        number(block, P_I, b), number(block, F_I, b), number(block, SINH_I, b)
                    )  # fmt: skip
                    p_j, f_j, sinh_j = (
                        number(block, P_J, b), number(block, F_J, b), number(block, SINH_J, b)
                    )  # fmt: skip
                    s, w = number(block, S, b), number(block, W, b)
                    step_u = number(block, STEP_U, b)
                    step_difference = number(block, STEP_DIFFERENCE, b)
                    sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
                    cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
                    cosh_gap = 1.0 + 2.0 * sinh_half_gap * sinh_half_gap
                    half_i, half_j = p_i * (1.0 + f_i), p_j * (1.0 + f_j)  # 2 sinh(rho/2)
                    cosh_i_1 = 0.5 * half_i * half_i  # cosh(rho_i) - 1
                    cosh_j = 1.0 + 0.5 * half_j * half_j
                    tanh_half_i = half_i / (1.0 + p_i + f_i)
                    sinh_j_s = sinh_j * s
                    h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j_s
                    kappa, kappa_h, of_time = 1.0, 0.0, 0.0
                    if time is None:
                        kappa, kappa_h = kappa_of(h)
                    else:
                        of_time = number(block, BY_TIME, b)
                    # The product of P_i and the logarithm, without kappa.
                    along = sinh_gap - 2.0 * sinh_j_s * cosh_i_1
                    product = along * step_u + sinh_j * step_difference
                    by_h = w * (kappa_h * product + 2.0 * of_time)
                    w_kappa = w * kappa
                    by_along = w_kappa * step_u
                    put(grad_weight, lo + b, kappa * product + (1.0 + 2.0 * h) * of_time)
                    by_rho_i = by_h * ((1.0 + cosh_i_1) * sinh_j_s - 0.5 * sinh_gap)
                    by_rho_i -= by_along * (cosh_gap + 2.0 * sinh_i * sinh_j_s)
                    by_rho_j = by_h * (0.5 * sinh_gap + sinh_i * cosh_j * s)
                    by_rho_j += by_along * (cosh_gap - 2.0 * s * cosh_j * cosh_i_1)
                    by_rho_j += w_kappa * cosh_j * step_difference
                    # cosh(rho_j - rho_i/2) + 2 s sinh(rho_j) sinh(rho_i/2)
                    up, down = (1.0 + p_j) * (1.0 + p_j) * f_i, f_j * f_j * (1.0 + p_i)
                    turn_of_step = w_kappa * (0.5 * (up + down) + sinh_j_s * half_i)
                    turn_of_difference = sinh_j * (by_along * tanh_half_i - 0.5 * by_h)
                    of_u_i = by_along * cosh_i_1 - 0.5 * by_h * sinh_i
                    note(block, BY_RHO_I, b, by_rho_i)
                    note(block, BY_RHO_J, b, by_rho_j)
                    note(block, TURN_OF_STEP, b, turn_of_step)
                    note(block, TURN_OF_DIFFERENCE, b, turn_of_difference)
                    note(block, SOURCE_OF_STEP, b, w_kappa)
                    note(block, SOURCE_OF_X, b, of_u_i * number(block, INVERSE_I, b))
                i, e = begin, lo
                while e < hi:
                    end, row = min(hi, start[i + 1]), i - first
                    for b in range(e - lo, end - lo):
                        row_by_rho[row] += number(block, BY_RHO_I, b)
                        row_of_step[row] += number(block, TURN_OF_STEP, b)
                        place = EDGE_COLUMNS * (lo + b)
                        put(by_source, place + OF_STEP, number(block, SOURCE_OF_STEP, b))
                        put(by_source, place + OF_X, number(block, SOURCE_OF_X, b))
                        put(by_source, place + BY_RHO, number(block, BY_RHO_J, b))
                    scale_row(unit, 0, x, i, polar[i, INVERSE_LENGTH])
                    add_differences(
                        turn, row, y, source, e, end - e, block, TURN_OF_DIFFERENCE, e - lo, SCALE,
                        unit, 0,
                    )  # fmt: skip
                    e = end
                    i += 1
            for i in range(first, last):
                row = i - first
                rho, sinhc = number(points, RADIUS, row), number(points, SINHC, row)
                p, f = number(points, GROWTH, row), number(points, DECAY, row)
                half = p * (1.0 + f)  # 2 sinh(rho/2)
                of_step = -row_of_step[row] * (half / rho if rho > 0.0 else 1.0)
                turn_u = sinhc * dot(turn, row, x, i) * polar[i, INVERSE_LENGTH]
                turn_u += of_step * row_step_u[row]
                of_v, of_turn, product = gradient_by_vector(
                    points, row, root, row_by_rho[row], turn_u
                )
                total += product
                of_step *= of_turn
                terms = (of_step, by_step, row), (of_v, x, i), (of_turn * sinhc, turn, row)
                combine(grad_x, i, ((1.0, by_x, row), *terms))
        moment[chunk] = total


@compiled(error_model="numpy", nogil=True)
def local_backward_columns(
    first_chunk: int,
    last_chunk: int,
    x: Floats,
    y: Floats,
    columns: Rows,
    root: float,
    added: bool,
    grad_step: Floats,
    by_source: Floats,
    grad_y: Floats,
    moment: Doubles,
) -> None:
    """Gradient by the sources; if ``added``, to that of the targets, which is in ``grad_y``."""
    start, other = columns.start, columns.other
    edge, bounds, final = columns.edge, columns.bounds, len(other) - 1
    for chunk in range(first_chunk, last_chunk):
        turn, points = np.empty((1, x.shape[1])), np.empty(2 * COLUMNS * STRIDE)
        of_step, of_x = np.empty(BLOCK), np.empty(BLOCK)
        total = 0.0
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            find_polar(y[first:last], root, points)
            for j in range(first, last):
                turn[:] = 0.0
                by_rho = 0.0
                for lo in range(start[j], start[j + 1], BLOCK):
                    hi = min(lo + BLOCK, start[j + 1])
                    for b in range(hi - lo):
                        soon = min(lo + b + AHEAD, final)
                        prefetch(by_source, EDGE_COLUMNS * at(edge, soon))
                        prefetch(grad_step, at(other, soon))
                        prefetch(x, at(other, soon))
                        place = EDGE_COLUMNS * at(edge, lo + b)
                        put(of_step, b, at(by_source, place + OF_STEP))
                        put(of_x, b, at(by_source, place + OF_X))
                        by_rho += at(by_source, place + BY_RHO)
                    add_rows(turn, 0, grad_step, other, lo, hi - lo, of_step, 0, 0)
                    add_rows(turn, 0, x, other, lo, hi - lo, of_x, 0, 0)
                row = j - first
                sinhc = number(points, SINHC, row)
                turn_u = dot(turn, 0, y, j) * sinhc * number(points, INVERSE_LENGTH, row)
                of_v, of_turn, product = gradient_by_vector(points, row, root, by_rho, turn_u)
                total += product
                terms = (of_v, y, j), (of_turn * sinhc, turn, 0)
                if added:
                    combine(grad_y, j, ((1.0, grad_y, j), *terms))
                else:
                    combine(grad_y, j, terms)
        moment[chunk] = total
