"""Squared distances of two lists of points, forward and backward.

With ``s = |u_w - u_v|²/4`` and ``H = sinh²((rho_w - rho_v)/2) + sinh(rho_v) sinh(rho_w) s`` the
distance is ``D/sqrt(c)``, where ``H = sinh²(D/2)``. See ``docs/kernels.md``, section 3.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels.derivatives import once
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
from hgcn.kernels.triton_gpu.scalars import asinh, kappa_of
from hgcn.kernels.triton_gpu.tiles import (
    curvature_gradient,
    doubles,
    kernel,
    point_tile,
    programs,
    rows_of_program,
    spread,
    whole,
    zeros_on,
)


@triton.jit
def _squared_sine(v, w, of_v, of_w, row, rows, d, WIDTH: tl.constexpr, D: tl.constexpr):
    """The number s of each pair of points: a quarter of the square between their directions."""
    square = tl.zeros([row.shape[0]], v.dtype.element_ty)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u_v = unit(load_rows(v, row, rows, column, d), of_v)
        difference = unit(load_rows(w, row, rows, column, d), of_w) - u_v
        square += tl.sum(difference * difference, 1)
    return 0.25 * square


@triton.jit
def _polar_forms(v, w, c, zeros, row, rows, d, WIDTH: tl.constexpr, D: tl.constexpr):
    """The root of c, the number s, and of v and of w the factors of directions and radial_of."""
    real = v.dtype.element_ty
    root = tl.sqrt(tl.load(c).to(tl.float64)).to(real)
    largest_v, square_v = sizes_of(v, row, rows, d, WIDTH, D)
    largest_w, square_w = sizes_of(w, row, rows, d, WIDTH, D)
    of_v = inverses_of(largest_v, square_v)
    of_w = inverses_of(largest_w, square_w)
    s = _squared_sine(v, w, of_v, of_w, row, rows, d, WIDTH, D)
    # All sums are before the first of these, see tiles.spread.
    s = spread(s, zeros)
    radial_v = radial_of(length_of(largest_v, square_v, zeros).to(real), root)
    radial_w = radial_of(length_of(largest_w, square_w, zeros).to(real), root)
    return root, s, of_v, of_w, radial_v, radial_w


@kernel
def _distance_forward(
    v, w, c, zeros, out, rows, d, TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """out_i = squared distance of v_i and w_i."""
    row = rows_of_program(TILE)
    root, s, _, _, radial_v, radial_w = _polar_forms(v, w, c, zeros, row, rows, d, WIDTH, D)
    p_v, p_w = radial_v[3], radial_w[3]
    f_v, sinh_v = decay_and_sinh(p_v)
    f_w, sinh_w = decay_and_sinh(p_w)
    sinh_half_gap = 0.5 * (p_w - p_v) * (f_v + f_w)
    root_h = tl.sqrt(sinh_half_gap * sinh_half_gap + sinh_v * sinh_w * s)
    length = 2.0 * asinh(root_h) / root
    tl.store(out + row, length * length, mask=row < rows)


@kernel
def _distance_backward(
    v, w, c, zeros, out, grad_out, grad_v, grad_w, moment, rows, d,
    TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradients of the forward pass; the one by H is 4 kappa/c."""
    row = rows_of_program(TILE)
    root, s, of_v, of_w, radial_v, radial_w = _polar_forms(v, w, c, zeros, row, rows, d, WIDTH, D)
    rho_v, slope_v, ratio_v, p_v = radial_v
    rho_w, slope_w, ratio_w, p_w = radial_w
    f_v, sinh_v = decay_and_sinh(p_v)
    f_w, sinh_w = decay_and_sinh(p_w)
    grad = tl.load(grad_out + row, mask=row < rows, other=0.0)
    value = tl.load(out + row, mask=row < rows, other=0.0)

    half_v = p_v * (1.0 + f_v)  # 2 sinh(rho/2)
    half_w = p_w * (1.0 + f_w)
    sinh_half_gap = 0.5 * (p_w - p_v) * (f_v + f_w)
    cosh_half_gap = 0.5 * ((1.0 + p_w) * f_v + (1.0 + p_v) * f_w)
    half_sinh_gap = sinh_half_gap * cosh_half_gap
    kappa = kappa_of(sinh_half_gap * sinh_half_gap + sinh_v * sinh_w * s)
    by_h = 4.0 * kappa * grad / (root * root)
    cosh_v = 1.0 + 0.5 * half_v * half_v
    cosh_w = 1.0 + 0.5 * half_w * half_w
    by_rho_v = by_h * (cosh_v * sinh_w * s - half_sinh_gap)
    by_rho_w = by_h * (cosh_w * sinh_v * s + half_sinh_gap)
    # The gradients by u_v and u_w are rho times these numbers times the difference.
    turn_v = -0.5 * by_h * sinhc_of(rho_v, p_v) * sinh_w
    turn_w = 0.5 * by_h * sinhc_of(rho_w, p_w) * sinh_v
    # The product of the difference with u_v is -2 s, and with u_w it is 2 s.
    turn_u_v = tl.where(rho_v > 0.0, -2.0 * s * turn_v, 0.0)
    turn_u_w = tl.where(rho_w > 0.0, 2.0 * s * turn_w, 0.0)
    v_of_u, of_turn_v, moment_v = gradient_by_vector(
        rho_v, slope_v, ratio_v, root, by_rho_v, turn_u_v
    )
    w_of_u, of_turn_w, moment_w = gradient_by_vector(
        rho_w, slope_w, ratio_w, root, by_rho_w, turn_u_w
    )
    v_of_difference, w_of_difference = of_turn_v * turn_v, of_turn_w * turn_w
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u_v = unit(load_rows(v, row, rows, column, d), of_v)
        u_w = unit(load_rows(w, row, rows, column, d), of_w)
        by_v = v_of_u[:, None] * u_v + v_of_difference[:, None] * (u_w - u_v)
        by_w = w_of_u[:, None] * u_w + w_of_difference[:, None] * (u_w - u_v)
        store_rows(grad_v, row, rows, column, d, by_v)
        store_rows(grad_w, row, rows, column, d, by_w)
    total = moment_v.to(tl.float64) + moment_w.to(tl.float64)
    total -= 2.0 * value.to(tl.float64) * grad.to(tl.float64)
    tl.store(moment + row, total, mask=row < rows)


class SquaredDistance(torch.autograd.Function):
    """Squared distances of two lists of points ``[n, d]``."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
        """Keep the inputs: the backward pass computes again what is cheaper than to store."""
        rows, d = v.shape
        out = v.new_empty(rows)
        if rows:
            _distance_forward[programs(rows)](
                whole(v), whole(w), c, zeros_on(v.device), out, rows, d, **point_tile(d, v)
            )
        ctx.save_for_backward(v, w, c, out)
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by v, w and c."""
        v, w, c, out = ctx.saved_tensors
        rows, d = v.shape
        v, w = whole(v), whole(w)
        grad_v, grad_w, moment = torch.empty_like(v), torch.empty_like(w), doubles(v, rows)
        if rows:
            _distance_backward[programs(rows)](
                v, w, c, zeros_on(v.device), out, whole(grad_out), grad_v, grad_w, moment, rows, d,
                **point_tile(d, v),
            )  # fmt: skip
        return grad_v, grad_w, curvature_gradient(moment, c)
