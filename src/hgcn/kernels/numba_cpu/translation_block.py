"""Translation of points in blocks, forward and backward: ``log_o exp_x P_{o->x} t``.

With ``u = v/|v|`` a step is ``t = par u + across``. In units of the curvature radius the result is
``asinh(|z|)/|z| z`` with ``z = along u + sigma across`` and ``sigma = sinh(tau)/tau``. The formulas
are derived in ``docs/kernels.md``, section 5, with the names of this file.

Work goes in three passes over a block: vectors to numbers, formulas on numbers, numbers to
vectors. The middle pass has no branches and no calls, and becomes vector instructions.
"""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.geometry.normal import MAX_RADIUS
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.numba_cpu.points import (
    BLOCK,
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    RADIUS,
    RATIO,
    SINH,
    SINHC,
    SLOPE,
)
from hgcn.kernels.numba_cpu.scalars import asinhc, expm1, saturate
from hgcn.kernels.rows import Doubles, Floats

FACTORS = 6
V_OF_GRAD, V_OF_V, V_OF_ACROSS, T_OF_GRAD, T_OF_V, T_OF_ACROSS = range(FACTORS)
"""Factors of grad, v and across that add up to the gradient by v, and to that by t."""


@compiled(inside=True, error_model="numpy", forceinline=True)
def decompose_step(
    v: Floats, i: int, inverse_length: float, t: Doubles, across: Doubles, d: int
) -> tuple[float, float, float, float]:
    """Set ``across`` to the component of the step t_i across u.

    Returns:
        The products t t, t u, across across and across u. The last is the leak, a rounding error
        that counts far out. It is taken away from ``across`` at each use.
    """
    row = min(i, len(t) - 1)
    par = dot(t, row, v, i) * inverse_length
    scaled = par * inverse_length
    for k in range(d):
        across[i, k] = t[row, k] - scaled * v[i, k]
    leak = dot(across, i, v, i) * inverse_length
    return dot(t, row, t, row), par, dot(across, i, across, i), leak


@compiled(inside=True, error_model="numpy", forceinline=True)
def hyperbolic_of_step(tau: float) -> tuple[float, float, float, float]:
    """The numbers p, f, cosh(tau) and sinh(tau)/tau of a step of length tau."""
    p = expm1(0.5 * tau)
    f = 1.0 / (1.0 + p)
    twice_sinh_half = p * (1.0 + f)
    cosh = 1.0 + 0.5 * twice_sinh_half * twice_sinh_half
    sigma = 0.5 * twice_sinh_half * (1.0 + p + f) / tau if tau > 0.0 else 1.0
    return p, f, cosh, sigma


@compiled(inside=True, error_model="numpy")
def translate_block(v: Floats, polar: Doubles, t: Doubles, root: float, out: Floats) -> None:
    """out_i = translate(v_i, t_i / root); a ``t`` of one row is the same for all."""
    rows, d = v.shape
    across, t_t = np.empty((BLOCK, d)), np.empty(BLOCK)
    t_u, across_across, leak = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    out_of_v, out_of_across = np.empty(BLOCK), np.empty(BLOCK)
    for i in range(rows):
        t_t[i], t_u[i], across_across[i], leak[i] = decompose_step(
            v, i, polar[i, INVERSE_LENGTH], t, across, d
        )
    flat = polar.reshape(-1)
    for i in range(rows):
        p, f = flat[COLUMNS * i + GROWTH], flat[COLUMNS * i + DECAY]
        sinh_rho = flat[COLUMNS * i + SINH]
        twice_sinh_half = p * (1.0 + f)
        cosh_rho = 1.0 + 0.5 * twice_sinh_half * twice_sinh_half
        length = math.sqrt(t_t[i])
        tau, _ = saturate(length)
        shrink = tau / length if length > 0.0 else 1.0
        par, square = shrink * t_u[i], shrink * shrink * across_across[i]
        p_t, f_t, cosh_tau, sigma = hyperbolic_of_step(tau)
        # Inwards, where the two terms of the other form cancel.
        sinh_gap = 0.5 * (p - p_t) * (f + f_t) * ((1.0 + p) * f_t + (1.0 + p_t) * f)
        inward = sinh_gap + cosh_rho * sigma * square / (tau - par)
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along = inward if par < 0.0 else along
        factor, _ = asinhc(math.sqrt(along * along + sigma * sigma * square))
        factor /= root
        out_of_across[i] = sigma * shrink * factor
        out_of_v[i] = (along * factor - out_of_across[i] * leak[i]) * flat[
            COLUMNS * i + INVERSE_LENGTH
        ]
    for i in range(rows):
        of_v, of_across = out_of_v[i], out_of_across[i]
        for k in range(d):
            out[i, k] = of_v * v[i, k] + of_across * across[i, k]


@compiled(inside=True, error_model="numpy")
def translate_block_backward(
    v: Floats,
    polar: Doubles,
    radial: Doubles,
    t: Doubles,
    root: float,
    grad: Floats,
    grad_t: Doubles,
    grad_v: Doubles,
) -> float:
    """Gradients of :func:`translate_block` by t and by v.

    Returns:
        The sum of v times its gradient, minus that of the outputs times theirs.
    """
    rows, d = v.shape
    across = np.empty((BLOCK, d))
    t_t, t_u, across_across = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    leak, grad_dot_u, grad_dot_across = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    factor, moment = np.empty((BLOCK, FACTORS)), np.empty(BLOCK)
    for i in range(rows):
        inverse_length = polar[i, INVERSE_LENGTH]
        t_t[i], t_u[i], across_across[i], leak[i] = decompose_step(
            v, i, inverse_length, t, across, d
        )
        grad_dot_u[i] = dot(grad, i, v, i) * inverse_length
        grad_dot_across[i] = dot(grad, i, across, i) - leak[i] * grad_dot_u[i]
    flat, flat_radial = polar.reshape(-1), radial.reshape(-1)
    for i in range(rows):
        inverse_length = flat[COLUMNS * i + INVERSE_LENGTH]
        p, f = flat[COLUMNS * i + GROWTH], flat[COLUMNS * i + DECAY]
        sinh_rho, sinhc_rho = flat[COLUMNS * i + SINH], flat_radial[COLUMNS * i + SINHC]
        rho = flat_radial[COLUMNS * i + RADIUS]
        twice_sinh_half = p * (1.0 + f)
        cosh_rho = 1.0 + 0.5 * twice_sinh_half * twice_sinh_half
        tilt = twice_sinh_half / (1.0 + p + f) * sinhc_rho  # (cosh(rho) - 1)/rho
        length = math.sqrt(t_t[i])
        tau, slope_t = saturate(length)
        shrink = tau / length if length > 0.0 else 1.0
        par, square = shrink * t_u[i], shrink * shrink * across_across[i]
        p_t, f_t, cosh_tau, sigma = hyperbolic_of_step(tau)
        q = tau * tau
        near = (1.0 + q / 10.0 * (1.0 + q / 28.0 * (1.0 + q / 54.0))) / 3.0
        bend = (cosh_tau - sigma) / q if tau > 0.05 else near  # d sigma/d tau over tau

        # along and its derivatives by rho, by tau over tau, and by par with tau moving along.
        # Inwards the terms of each cancel; there they are written with k_in = tau + par.
        sinh_half_gap = 0.5 * (p - p_t) * (f + f_t)
        sinh_gap = sinh_half_gap * ((1.0 + p) * f_t + (1.0 + p_t) * f)
        cosh_gap = 1.0 + 2.0 * sinh_half_gap * sinh_half_gap
        k_in = square / (tau - par)
        inward = par < 0.0 and tau > 0.5
        along = cosh_tau * sinh_rho + cosh_rho * sigma * par
        along = sinh_gap + cosh_rho * sigma * k_in if inward else along
        along_rho = cosh_tau * cosh_rho + sinh_rho * sigma * par
        along_rho = cosh_gap + sinh_rho * sigma * k_in if inward else along_rho
        along_tau = sigma * sinh_rho + cosh_rho * par * bend
        along_par = cosh_rho * sigma + along_tau * par
        tau_in = (cosh_rho * sigma - cosh_gap) / tau + cosh_rho * k_in * bend
        par_in = cosh_gap + sigma * sinh_rho * k_in + cosh_rho * bend * k_in * (k_in - 2.0 * tau)
        along_tau = tau_in if inward else along_tau
        along_par = par_in if inward else along_par
        # (along - sigma par)/rho, the factor with which z turns with u
        turn = cosh_tau * sinhc_rho + sigma * par * tilt
        turn = (along - sigma * par) / rho if inward and rho > 0.5 else turn

        # The gradient by z: value grad + towards z, in its products with u and across.
        value, decay = asinhc(math.sqrt(along * along + sigma * sigma * square))
        grad_u, grad_across = grad_dot_u[i] / root, shrink * grad_dot_across[i] / root
        towards = decay * (along * grad_u + sigma * grad_across)
        z_u = value * grad_u + (towards * along if rho > 0.0 else 0.0)
        z_across = value * grad_across + towards * sigma * square

        # By v.
        slope, ratio = flat_radial[COLUMNS * i + SLOPE], flat_radial[COLUMNS * i + RATIO]
        by_rho = slope * z_u * along_rho
        moment[i] = by_rho * rho / ratio - value * (along * grad_u + sigma * grad_across)
        factor[i, V_OF_GRAD] = ratio * turn * value
        factor[i, V_OF_ACROSS] = root * ratio * shrink * sigma * (turn * towards + tilt * z_u)
        straight = root * (by_rho - ratio * turn * value * grad_u)
        factor[i, V_OF_V] = (straight - factor[i, V_OF_ACROSS] * leak[i]) * inverse_length

        # By the saturated t, and from there to t: shrink of it, and what is along t by the slope.
        by_u = z_u * along_par + z_across * bend * par + sigma * (towards * along - z_u)
        by_across = z_u * along_tau + z_across * bend + sigma * towards * sigma
        by_grad = sigma * value
        by_t = by_grad * (par * grad_u + grad_across) + by_u * par + by_across * square
        by_t *= (slope_t - shrink) / q if length > MAX_RADIUS else 0.0
        factor[i, T_OF_GRAD] = shrink * by_grad / root
        factor[i, T_OF_ACROSS] = shrink * (shrink * by_across + by_t)
        by_v = shrink * by_u + by_t * par - factor[i, T_OF_ACROSS] * leak[i]
        factor[i, T_OF_V] = by_v * inverse_length
    total = 0.0
    for i in range(rows):
        total += moment[i]
        of_grad, of_v, of_across = factor[i, V_OF_GRAD], factor[i, V_OF_V], factor[i, V_OF_ACROSS]
        for k in range(d):
            grad_v[i, k] = of_grad * grad[i, k] + of_v * v[i, k] + of_across * across[i, k]
        of_grad, of_v, of_across = factor[i, T_OF_GRAD], factor[i, T_OF_V], factor[i, T_OF_ACROSS]
        for k in range(d):
            grad_t[i, k] = of_grad * grad[i, k] + of_v * v[i, k] + of_across * across[i, k]
    return total
