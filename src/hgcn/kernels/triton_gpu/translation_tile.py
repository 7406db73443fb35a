"""Translation of a tile of points, forward and backward: ``log_o exp_x P_{o->x} t``.

In units of the curvature radius the result is ``asinh(|z|)/|z| z`` with ``z = along u + sigma X``
and ``sigma = sinh(tau)/tau``. The formulas are derived in ``docs/kernels.md``, section 5, with the
names of this file. Only ``across`` is that of a step of length one here, so that no square is too
large for float32: ``X`` is ``tau across``.

Vectors have the type of the tensors; numbers are in float64, because products such as
``cosh(rho) sinh(tau)`` reach e^84, and their squares have no place in float32.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import triton
import triton.language as tl

from hgcn.kernels.triton_gpu.points import (
    decay_and_sinh,
    inverses_of,
    length_of,
    load_rows,
    radial_of,
    sinhc_of,
    sizes_of,
    store_rows,
    unit,
)
from hgcn.kernels.triton_gpu.scalars import MAX_RADIUS, asinhc, expm1, saturate
from hgcn.kernels.triton_gpu.tiles import kernel, rows_of_program, spread


@triton.jit
def _directions(v, t, of_v, of_t, row, at, rows, column, d):
    """Some columns of the directions of the points and of their steps."""
    u = unit(load_rows(v, row, rows, column, d), of_v)
    return u, unit(load_rows(t, at, rows, column, d), of_t)


@triton.jit
def _products(
    v, t, grad, of_v, of_t, row, at, rows, d,
    GRAD: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Products of the direction of the step, and of its component ``across`` u.

    These are the step's with u, those of ``across`` with itself and with u, and if there is a
    gradient, its with u and ``across``. The product of ``across`` and u is the leak, a rounding
    error that counts far out. It is taken away from ``across`` at each use.
    """
    zero = tl.zeros([row.shape[0]], v.dtype.element_ty)
    cosine, sine_2, leak, grad_u, grad_across = zero, zero, zero, zero, zero
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u, forward = _directions(v, t, of_v, of_t, row, at, rows, column, d)
        cosine += tl.sum(forward * u, 1)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u, forward = _directions(v, t, of_v, of_t, row, at, rows, column, d)
        across = forward - cosine[:, None] * u
        sine_2 += tl.sum(across * across, 1)
        leak += tl.sum(across * u, 1)
        if GRAD:
            g = load_rows(grad, row, rows, column, d)
            grad_u += tl.sum(g * u, 1)
            grad_across += tl.sum(g * across, 1)
    return cosine, sine_2, leak, grad_u, grad_across


@triton.jit
def _of_step(length):
    """Of a step, tau, its slope, shrink; p, f, cosh(tau) and sinh(tau)/tau."""
    tau, slope = saturate(length)
    shrink = tl.where(length > 0.0, tau / tl.where(length > 0.0, length, 1.0), 1.0)
    p = expm1(0.5 * tau)
    f = 1.0 / (1.0 + p)
    half = p * (1.0 + f)  # 2 sinh(tau/2)
    sigma = 0.5 * half * (1.0 + p + f) / tl.where(tau > 0.0, tau, 1.0)
    sigma = tl.where(tau > 0.0, sigma, 1.0)
    return tau, slope, shrink, p, f, 1.0 + 0.5 * half * half, sigma


@triton.jit
def _polar_forms(
    v, t, c, grad, zeros, row, at, rows, d,
    UNITS: tl.constexpr, GRAD: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """What the columns of a tile are needed for, all but the results.

    Returns:
        The root of c and the scale of steps; factors of the directions of v and t; their cosine in
        the type of the tensors; what :func:`_products` returns, in float64; :func:`radial_of` the
        points; and the lengths of the steps in units of the curvature radius.
    """
    root = tl.sqrt(tl.load(c).to(tl.float64))
    scale = 1.0 if UNITS else root
    largest, squared = sizes_of(v, row, rows, d, WIDTH, D)
    largest_t, squared_t = sizes_of(t, at, rows, d, WIDTH, D)
    of_v = inverses_of(largest, squared)
    of_t = inverses_of(largest_t, squared_t)
    cosine, sine_2, leak, grad_u, grad_across = _products(
        v, t, grad, of_v, of_t, row, at, rows, d, GRAD, WIDTH, D
    )
    # All sums are before the first of these, see tiles.spread.
    products = (
        spread(cosine, zeros).to(tl.float64),
        spread(sine_2, zeros).to(tl.float64),
        spread(leak, zeros).to(tl.float64),
        spread(grad_u, zeros).to(tl.float64),
        spread(grad_across, zeros).to(tl.float64),
    )
    radial = radial_of(length_of(largest, squared, zeros), root)
    length = scale * length_of(largest_t, squared_t, zeros)
    return root, scale, of_v, of_t, cosine, products, radial, length


@kernel
def translate_forward(
    v, t, c, zeros, out, rows, d,
    SHARED: tl.constexpr, UNITS: tl.constexpr,
    TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """out_i = translate(v_i, t_i).

    ``SHARED`` is one step for all rows; ``UNITS`` are steps in units of the curvature radius.
    """
    row = rows_of_program(TILE)
    at = row * 0 if SHARED else row
    root, _, of_v, of_t, one_cosine, products, radial, length = _polar_forms(
        v, t, c, v, zeros, row, at, rows, d, UNITS, False, WIDTH, D
    )
    cosine, sine_2, leak, _, _ = products
    p = radial[3]
    f, sinh_rho = decay_and_sinh(p)
    half = p * (1.0 + f)  # 2 sinh(rho/2)
    cosh_rho = 1.0 + 0.5 * half * half
    tau, _, _, p_t, f_t, cosh_tau, sigma = _of_step(length)
    par = tau * cosine
    square = tau * tau * sine_2
    # Inwards, where the two terms of the other form cancel.
    sinh_gap = 0.5 * (p - p_t) * (f + f_t) * ((1.0 + p) * f_t + (1.0 + p_t) * f)
    inward = par < 0.0
    k_in = square / tl.where(inward, tau - par, 1.0)
    along = cosh_tau * sinh_rho + cosh_rho * sigma * par
    along = tl.where(inward, sinh_gap + cosh_rho * sigma * k_in, along)
    factor, _ = asinhc(tl.sqrt(along * along + sigma * sigma * square))
    factor = factor / root
    of_across = sigma * tau * factor
    of_u = along * factor - of_across * leak

    real = v.dtype.element_ty
    of_u, of_across = of_u.to(real), of_across.to(real)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u, forward = _directions(v, t, of_v, of_t, row, at, rows, column, d)
        across = forward - one_cosine[:, None] * u
        moved = of_u[:, None] * u + of_across[:, None] * across
        store_rows(out, row, rows, column, d, moved)


@kernel
def translate_backward(
    v, t, c, zeros, grad_out, grad_v, grad_t, moment, rows, d,
    SHARED: tl.constexpr, UNITS: tl.constexpr,
    TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradients of :func:`translate_forward`; of a shared step one row for each program.

    ``moment`` is v times its gradient minus the output times its own; plus t times its gradient,
    but for steps in units of the curvature radius, which have no unit.
    """
    row = rows_of_program(TILE)
    at = row * 0 if SHARED else row
    root, scale, of_v, of_t, one_cosine, products, radial, length = _polar_forms(
        v, t, c, grad_out, zeros, row, at, rows, d, UNITS, True, WIDTH, D
    )
    cosine, sine_2, leak, grad_dot_u, grad_dot_across = products
    grad_dot_across -= leak * grad_dot_u
    rho, slope, ratio, p = radial
    f, sinh_rho = decay_and_sinh(p)
    sinhc_rho = sinhc_of(rho, p)
    half = p * (1.0 + f)  # 2 sinh(rho/2)
    cosh_rho = 1.0 + 0.5 * half * half
    tilt = half / (1.0 + p + f) * sinhc_rho  # (cosh(rho) - 1)/rho
    tau, slope_t, shrink, p_t, f_t, cosh_tau, sigma = _of_step(length)
    par = tau * cosine
    square = tau * tau * sine_2
    q = tau * tau
    near = (1.0 + q / 10.0 * (1.0 + q / 28.0 * (1.0 + q / 54.0))) / 3.0
    large = tau > 0.05
    bend = (cosh_tau - sigma) / tl.where(large, q, 1.0)  # d sigma/d tau over tau
    bend = tl.where(large, bend, near)

    # along and its derivatives by rho, by tau over tau, and by par with tau moving along.
    # Inwards the terms of each cancel; there they are written with k_in = tau + par.
    sinh_half_gap = 0.5 * (p - p_t) * (f + f_t)
    sinh_gap = sinh_half_gap * ((1.0 + p) * f_t + (1.0 + p_t) * f)
    cosh_gap = 1.0 + 2.0 * sinh_half_gap * sinh_half_gap
    inward = (par < 0.0) & (tau > 0.5)
    k_in = square / tl.where(inward, tau - par, 1.0)
    along = cosh_tau * sinh_rho + cosh_rho * sigma * par
    along = tl.where(inward, sinh_gap + cosh_rho * sigma * k_in, along)
    along_rho = cosh_tau * cosh_rho + sinh_rho * sigma * par
    along_rho = tl.where(inward, cosh_gap + sinh_rho * sigma * k_in, along_rho)
    along_tau = sigma * sinh_rho + cosh_rho * par * bend
    along_par = cosh_rho * sigma + along_tau * par
    tau_in = (cosh_rho * sigma - cosh_gap) / tl.where(inward, tau, 1.0) + cosh_rho * k_in * bend
    par_in = cosh_gap + sigma * sinh_rho * k_in + cosh_rho * bend * k_in * (k_in - 2.0 * tau)
    along_tau = tl.where(inward, tau_in, along_tau)
    along_par = tl.where(inward, par_in, along_par)
    # (along - sigma par)/rho, the factor with which z turns with u
    far = inward & (rho > 0.5)
    turn = cosh_tau * sinhc_rho + sigma * par * tilt
    turn = tl.where(far, (along - sigma * par) / tl.where(far, rho, 1.0), turn)

    # The gradient by z: value grad + towards z, in its products with u and across.
    value, decay = asinhc(tl.sqrt(along * along + sigma * sigma * square))
    grad_u = grad_dot_u / root
    grad_across = tau * grad_dot_across / root
    towards = decay * (along * grad_u + sigma * grad_across)
    z_u = value * grad_u + tl.where(rho > 0.0, towards * along, 0.0)
    z_across = value * grad_across + towards * sigma * square

    # By v.
    by_rho = slope * z_u * along_rho
    total = by_rho * rho / ratio - value * (along * grad_u + sigma * grad_across)
    v_of_grad = ratio * turn * value
    v_of_across = root * ratio * tau * sigma * (turn * towards + tilt * z_u)
    v_of_u = root * (by_rho - ratio * turn * value * grad_u) - v_of_across * leak

    # By the saturated t, and from there to t: shrink of it, and what is along t by the slope.
    by_u = z_u * along_par + z_across * bend * par + sigma * (towards * along - z_u)
    by_across = z_u * along_tau + z_across * bend + sigma * towards * sigma
    by_grad = sigma * value
    by_t = by_grad * (par * grad_u + grad_across) + by_u * par + by_across * square
    beyond = length > MAX_RADIUS
    by_t = tl.where(beyond, by_t * (slope_t - shrink) / tl.where(beyond, q, 1.0), 0.0)
    t_of_grad = shrink * by_grad / root
    t_of_across = tau * (shrink * by_across + by_t)
    t_of_u = shrink * by_u + by_t * par - t_of_across * leak

    real = v.dtype.element_ty
    v_of_grad, v_of_u, v_of_across = v_of_grad.to(real), v_of_u.to(real), v_of_across.to(real)
    t_of_grad, t_of_u = (scale * t_of_grad).to(real), (scale * t_of_u).to(real)
    t_of_across = (scale * t_of_across).to(real)
    product = tl.zeros([TILE], real)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u, forward = _directions(v, t, of_v, of_t, row, at, rows, column, d)
        across = forward - one_cosine[:, None] * u
        grad = load_rows(grad_out, row, rows, column, d)
        by_v = v_of_grad[:, None] * grad + v_of_u[:, None] * u + v_of_across[:, None] * across
        by_step = t_of_grad[:, None] * grad + t_of_u[:, None] * u + t_of_across[:, None] * across
        store_rows(grad_v, row, rows, column, d, by_v)
        product += tl.sum(by_step * forward, 1)
        if SHARED:
            # Outside of the matrix the gradient by the output is zero, and so is that by t.
            place = grad_t + tl.program_id(0).to(tl.int64) * d + column
            tl.store(place, tl.sum(by_step.to(tl.float64), 0), mask=column < d)
        else:
            store_rows(grad_t, row, rows, column, d, by_step)
    if not UNITS:
        total += spread(product, zeros).to(tl.float64) * length / scale
    tl.store(moment + row, total, mask=row < rows)
