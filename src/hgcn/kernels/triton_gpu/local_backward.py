"""The backward pass of the local aggregation: over rows of targets, then over rows of sources.

``P_i`` is the gradient by the step of row i. The pass over targets computes all formulas of an edge
and leaves three numbers of each for the pass over sources, which only adds up. The formulas are
derived in ``docs/kernels.md``, section 4, with the names of this file.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import triton
import triton.language as tl

from hgcn.kernels.triton_gpu.points import (
    decay_and_sinh,
    gradient_by_vector,
    inverses_of,
    length_of,
    load_rows,
    radial_of,
    sinhc_of,
    sizes_of,
    store_rows,
    unit,
)
from hgcn.kernels.triton_gpu.rows import segment_of
from hgcn.kernels.triton_gpu.scalars import kappa_of, kappa_slope
from hgcn.kernels.triton_gpu.tiles import kernel, rows_of_program, spread

EDGE_COLUMNS = 3
"""Numbers of an edge for its source: factors of P_i and u_i in the gradient by u_j; by rho_j."""

NUMBERS = tl.constexpr(2)
"""Numbers of a row beside its vector: the gradient by rho_i, and the factor of P_i in its turn."""


@kernel
def edges_backward(
    target_u, target_p, source_u, source_p, weight, other, grad_step,
    grad_weight, by_source, turn, numbers, start, further, owner, count, d,
    SAME: tl.constexpr, SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradients by the weights; the numbers of edges for their sources; sums for the target."""
    i, low, high = segment_of(start, further, owner, count, SEGMENT)
    column = tl.arange(0, D)
    mine = tl.maximum(i, 0)
    u_i = tl.load(target_u + mine * d + column, mask=column < d, other=0.0)
    by_step = tl.load(grad_step + mine * d + column, mask=column < d, other=0.0)
    step_u = tl.sum(by_step * u_i, 0)
    p_i = tl.load(target_p + mine)
    f_i, sinh_i = decay_and_sinh(p_i)
    half_i = p_i * (1.0 + f_i)  # 2 sinh(rho_i/2)
    cosh_i_1 = 0.5 * half_i * half_i  # cosh(rho_i) - 1
    tanh_half_i = half_i / (1.0 + p_i + f_i)
    total = tl.zeros([D], u_i.dtype)
    total_by_rho = p_i * 0.0
    total_of_step = p_i * 0.0
    for first in range(low, high, TILE):
        e = first + tl.arange(0, TILE)
        inside = e < high
        j = tl.load(other + e, mask=inside, other=0).to(tl.int64)
        w = tl.load(weight + e, mask=inside, other=0.0)
        here = inside[:, None] & (column < d)[None, :]
        u_j = tl.load(source_u + j[:, None] * d + column[None, :], mask=here, other=0.0)
        difference = u_j - u_i[None, :]
        s = 0.25 * tl.sum(difference * difference, 1)
        step_difference = tl.sum(difference * by_step[None, :], 1)

        # Loaded after the sums, see tiles.spread.
        p_j = tl.load(source_p + j, mask=inside, other=0.0)
        f_j, sinh_j = decay_and_sinh(p_j)
        sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
        cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
        sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
        cosh_gap = 1.0 + 2.0 * sinh_half_gap * sinh_half_gap
        half_j = p_j * (1.0 + f_j)
        cosh_j = 1.0 + 0.5 * half_j * half_j
        sinh_j_s = sinh_j * s
        h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j_s
        kappa = kappa_of(h)
        # The product of P_i and the logarithm; without kappa it might be too large for float32.
        along = kappa * (sinh_gap - 2.0 * sinh_j_s * cosh_i_1)
        by_weight = along * step_u + (kappa * sinh_j) * step_difference
        by_h = w * kappa_slope(h, kappa, by_weight)
        w_kappa = w * kappa
        by_along = w_kappa * step_u
        by_rho_i = by_h * ((1.0 + cosh_i_1) * sinh_j_s - 0.5 * sinh_gap)
        by_rho_i -= by_along * (cosh_gap + 2.0 * sinh_i * sinh_j_s)
        by_rho_j = by_h * (0.5 * sinh_gap + sinh_i * cosh_j * s)
        by_rho_j += by_along * (cosh_gap - 2.0 * s * cosh_j * cosh_i_1)
        by_rho_j += w_kappa * cosh_j * step_difference
        # cosh(rho_j - rho_i/2) + 2 s sinh(rho_j) sinh(rho_i/2)
        up = (1.0 + p_j) * (1.0 + p_j) * f_i
        down = f_j * f_j * (1.0 + p_i)
        turn_of_step = w_kappa * (0.5 * (up + down) + sinh_j_s * half_i)
        turn_of_difference = sinh_j * (by_along * tanh_half_i - 0.5 * by_h)
        source_of_u = by_along * cosh_i_1 - 0.5 * by_h * sinh_i
        if SAME:
            # A node's logarithm of itself is zero, and so are its gradients.
            there = inside & (j != i)
            by_weight = tl.where(there, by_weight, 0.0)
            w_kappa = tl.where(there, w_kappa, 0.0)
            source_of_u = tl.where(there, source_of_u, 0.0)
            by_rho_j = tl.where(there, by_rho_j, 0.0)
        else:
            there = inside
        tl.store(grad_weight + e, by_weight, mask=inside)
        tl.store(by_source + 3 * e, w_kappa, mask=inside)
        tl.store(by_source + 3 * e + 1, source_of_u, mask=inside)
        tl.store(by_source + 3 * e + 2, by_rho_j, mask=inside)
        total_by_rho += tl.sum(tl.where(there, by_rho_i, 0.0), 0)
        total_of_step += tl.sum(tl.where(there, turn_of_step, 0.0), 0)
        scaled = tl.where(there, turn_of_difference, 0.0)
        total += tl.sum(scaled[:, None] * difference, 0)
    program = tl.program_id(0).to(tl.int64)
    tl.store(turn + program * d + column, total, mask=column < d)
    tl.store(numbers + NUMBERS * program, total_by_rho)
    tl.store(numbers + NUMBERS * program + 1, total_of_step)


@triton.jit
def _product_with_directions(
    x, v, inverses, row, rows, d, WIDTH: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Of each row the product of x and the direction of v."""
    product = tl.zeros([row.shape[0]], v.dtype.element_ty)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u = unit(load_rows(v, row, rows, column, d), inverses)
        product += tl.sum(load_rows(x, row, rows, column, d) * u, 1)
    return product


@kernel
def targets_backward(
    v, c, zeros, grad_step, turn, numbers, grad_v, moment, rows, d,
    TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Add to the gradients by the targets what comes from their edges."""
    row = rows_of_program(TILE)
    inside = row < rows
    root = tl.sqrt(tl.load(c).to(tl.float64))
    largest, square = sizes_of(v, row, rows, d, WIDTH, D)
    inverses = inverses_of(largest, square)
    turned_u = _product_with_directions(turn, v, inverses, row, rows, d, WIDTH, D)
    step_u = _product_with_directions(grad_step, v, inverses, row, rows, d, WIDTH, D)
    rho, slope, ratio, p = radial_of(length_of(largest, square, zeros), root)
    by_rho = tl.load(numbers + NUMBERS * row, mask=inside, other=0.0).to(tl.float64)
    row_of_step = tl.load(numbers + NUMBERS * row + 1, mask=inside, other=0.0).to(tl.float64)
    sinhc = sinhc_of(rho, p)
    f, _ = decay_and_sinh(p)
    half = p * (1.0 + f)  # 2 sinh(rho/2)
    half = tl.where(rho > 0.0, half / tl.where(rho > 0.0, rho, 1.0), 1.0)
    of_step = -row_of_step * half
    turned_u, step_u = spread(turned_u, zeros).to(tl.float64), spread(step_u, zeros).to(tl.float64)
    turn_u = turned_u * sinhc + of_step * step_u
    of_u, of_turn, product = gradient_by_vector(rho, slope, ratio, root, by_rho, turn_u)
    tl.store(moment + row, tl.load(moment + row, mask=inside, other=0.0) + product, mask=inside)

    real = v.dtype.element_ty
    of_step, of_turned = (of_turn * of_step).to(real), (of_turn * sinhc).to(real)
    of_u = of_u.to(real)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        value = load_rows(grad_v, row, rows, column, d)
        value += of_step[:, None] * load_rows(grad_step, row, rows, column, d)
        value += of_u[:, None] * unit(load_rows(v, row, rows, column, d), inverses)
        value += of_turned[:, None] * load_rows(turn, row, rows, column, d)
        store_rows(grad_v, row, rows, column, d, value)


@kernel
def columns_backward(
    target_u, grad_step, by_source, other, edge, turn, numbers, start, further, owner, count, d,
    SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Sums over a segment of a row of sources: the vector that turns u_j, and by rho_j."""
    _, low, high = segment_of(start, further, owner, count, SEGMENT)
    column = tl.arange(0, D)
    total = tl.zeros([D], target_u.dtype.element_ty)
    total_by_rho = tl.sum(tl.zeros([TILE], target_u.dtype.element_ty), 0)
    for first in range(low, high, TILE):
        position = first + tl.arange(0, TILE)
        inside = position < high
        i = tl.load(other + position, mask=inside, other=0).to(tl.int64)
        e = 3 * tl.load(edge + position, mask=inside, other=0).to(tl.int64)
        of_step = tl.load(by_source + e, mask=inside, other=0.0)
        of_u = tl.load(by_source + e + 1, mask=inside, other=0.0)
        total_by_rho += tl.sum(tl.load(by_source + e + 2, mask=inside, other=0.0), 0)
        here = inside[:, None] & (column < d)[None, :]
        at = i[:, None] * d + column[None, :]
        total += tl.sum(
            of_step[:, None] * tl.load(grad_step + at, mask=here, other=0.0)
            + of_u[:, None] * tl.load(target_u + at, mask=here, other=0.0),
            0,
        )
    program = tl.program_id(0).to(tl.int64)
    tl.store(turn + program * d + column, total, mask=column < d)
    tl.store(numbers + program, total_by_rho)


@kernel
def sources_backward(
    v, c, zeros, turn, numbers, grad_v, moment, rows, d,
    ADDED: tl.constexpr, TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradient by the sources, added to that of the targets where both are one set of nodes."""
    row = rows_of_program(TILE)
    inside = row < rows
    root = tl.sqrt(tl.load(c).to(tl.float64))
    largest, square = sizes_of(v, row, rows, d, WIDTH, D)
    inverses = inverses_of(largest, square)
    turned_u = _product_with_directions(turn, v, inverses, row, rows, d, WIDTH, D)
    rho, slope, ratio, p = radial_of(length_of(largest, square, zeros), root)
    by_rho = tl.load(numbers + row, mask=inside, other=0.0).to(tl.float64)
    sinhc = sinhc_of(rho, p)
    turn_u = spread(turned_u, zeros).to(tl.float64) * sinhc
    of_u, of_turn, product = gradient_by_vector(rho, slope, ratio, root, by_rho, turn_u)
    tl.store(moment + row, product, mask=inside)

    real = v.dtype.element_ty
    of_u, of_turned = of_u.to(real), (of_turn * sinhc).to(real)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        value = of_u[:, None] * unit(load_rows(v, row, rows, column, d), inverses)
        value += of_turned[:, None] * load_rows(turn, row, rows, column, d)
        if ADDED:
            value += load_rows(grad_v, row, rows, column, d)
        store_rows(grad_v, row, rows, column, d, value)
