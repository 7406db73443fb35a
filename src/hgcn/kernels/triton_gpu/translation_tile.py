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
    directions,
    dot,
    length_of,
    radial_of,
    sinhc_of,
)
from hgcn.kernels.triton_gpu.scalars import MAX_RADIUS, asinhc, expm1, saturate
from hgcn.kernels.triton_gpu.tiles import spread


@triton.jit
def _decompose_step(u, t):
    """The direction of the step, in its component across u, and numbers of it.

    These are the product with u, the products of ``across`` with itself and with u, and what
    :func:`directions` has for the length of t. The product with u is the leak, a rounding error
    that counts far out. It is taken away from ``across`` at each use.
    """
    forward, largest, square = directions(t)
    par = tl.sum(forward * u, 1)
    across = forward - par[:, None] * u
    return across, par.to(tl.float64), dot(across, across), dot(across, u), largest, square


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
def translate_tile(v, t, root, zeros):
    """Points translate(v, t/root)."""
    u, largest, squared = directions(v)
    across, cosine, sine_2, leak, largest_t, squared_t = _decompose_step(u, t)
    # All sums are before the first of these, see tiles.spread.
    cosine, sine_2, leak = spread(cosine, zeros), spread(sine_2, zeros), spread(leak, zeros)
    _, _, _, p = radial_of(length_of(largest, squared, zeros), root)
    f, sinh_rho = decay_and_sinh(p)
    half = p * (1.0 + f)  # 2 sinh(rho/2)
    cosh_rho = 1.0 + 0.5 * half * half
    length = length_of(largest_t, squared_t, zeros)
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
    return of_u.to(u.dtype)[:, None] * u + of_across.to(u.dtype)[:, None] * across


@triton.jit
def translate_tile_backward(v, t, root, grad, zeros):
    """Gradients of :func:`translate_tile` by v and by t.

    Returns:
        Both gradients, and v times its gradient minus the output times its own.
    """
    u, largest, squared = directions(v)
    across, cosine, sine_2, leak, largest_t, squared_t = _decompose_step(u, t)
    grad_dot_u, grad_dot_across = dot(grad, u), dot(grad, across)
    # All sums are before the first of these, see tiles.spread.
    cosine, sine_2, leak = spread(cosine, zeros), spread(sine_2, zeros), spread(leak, zeros)
    grad_dot_u = spread(grad_dot_u, zeros)
    grad_dot_across = spread(grad_dot_across, zeros) - leak * grad_dot_u
    rho, slope, ratio, p = radial_of(length_of(largest, squared, zeros), root)
    f, sinh_rho = decay_and_sinh(p)
    sinhc_rho = sinhc_of(rho, p)
    half = p * (1.0 + f)  # 2 sinh(rho/2)
    cosh_rho = 1.0 + 0.5 * half * half
    tilt = half / (1.0 + p + f) * sinhc_rho  # (cosh(rho) - 1)/rho
    length = length_of(largest_t, squared_t, zeros)
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
    moment = by_rho * rho / ratio - value * (along * grad_u + sigma * grad_across)
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

    real = u.dtype
    by_vector = v_of_grad.to(real)[:, None] * grad + v_of_u.to(real)[:, None] * u
    by_vector += v_of_across.to(real)[:, None] * across
    by_step = t_of_grad.to(real)[:, None] * grad + t_of_u.to(real)[:, None] * u
    by_step += t_of_across.to(real)[:, None] * across
    return by_vector, by_step, moment
