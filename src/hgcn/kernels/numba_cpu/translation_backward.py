"""The backward pass of translation, see :mod:`.translation_forward`."""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.geometry.normal import MAX_RADIUS
from hgcn.kernels.numba_cpu import translation_forward as forward
from hgcn.kernels.numba_cpu.instructions import combine, dot, note, number
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import (
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    RADIUS,
    RATIO,
    SINH,
    SINHC,
    SLOPE,
    find_polar,
)
from hgcn.kernels.numba_cpu.scalars import asinhc
from hgcn.kernels.numba_cpu.translation_forward import (
    ACROSS_ACROSS,
    COSH_TAU,
    F_T,
    LEAK,
    P_T,
    SHRINK,
    SIGMA,
    SLOPE_T,
    T_U,
    TAU,
    decompose_steps,
)
from hgcn.kernels.rows import Doubles, Floats, Ints

NUMBERS = forward.NUMBERS + 9
(
    GRAD_U, GRAD_ACROSS, MOMENT, V_OF_GRAD, V_OF_V, V_OF_ACROSS, T_OF_GRAD, T_OF_V, T_OF_ACROSS
) = range(forward.NUMBERS, NUMBERS)  # fmt: skip
"""More numbers of a step: products of the gradient, what it adds to ``moment``, and factors of the
gradient, of v and of ``across`` that add up to the gradient by v, and to that by t.
"""


@compiled(inside=True, error_model="numpy")
def translation_factors(
    v: Floats, points: Doubles, t: Doubles, scale: float, root: float, lo: int, hi: int,
    grad: Floats, across: Doubles, steps: Doubles,
) -> None:  # fmt: skip
    """Find ``points``, ``across`` and all numbers of the steps of the points lo to hi."""
    rows = hi - lo
    find_polar(v[lo:hi], root, points)
    decompose_steps(v[lo:hi], points, t, scale, lo, across, steps)
    for i in range(rows):
        grad_u = dot(grad, lo + i, v, lo + i) * number(points, INVERSE_LENGTH, i)
        note(steps, GRAD_U, i, grad_u)
        leaked = number(steps, LEAK, i) * grad_u
        note(steps, GRAD_ACROSS, i, dot(grad, lo + i, across, i) - leaked)
    for i in range(rows):
        p, f = number(points, GROWTH, i), number(points, DECAY, i)
        sinh_rho, sinhc_rho = number(points, SINH, i), number(points, SINHC, i)
        rho = number(points, RADIUS, i)
        twice_sinh_half = p * (1.0 + f)
        cosh_rho = 1.0 + 0.5 * twice_sinh_half * twice_sinh_half
        tilt = twice_sinh_half / (1.0 + p + f) * sinhc_rho  # (cosh(rho) - 1)/rho
        tau, shrink = number(steps, TAU, i), number(steps, SHRINK, i)
        par, square = (
            shrink * number(steps, T_U, i),
            shrink * shrink * number(steps, ACROSS_ACROSS, i),
        )
        p_t, f_t = number(steps, P_T, i), number(steps, F_T, i)
        cosh_tau, sigma = number(steps, COSH_TAU, i), number(steps, SIGMA, i)
        q = tau * tau
        near = (1.0 + q / 10.0 * (1.0 + q / 28.0 * (1.0 + q / 54.0))) / 3.0
        bend = (cosh_tau - sigma) / q if tau > 0.05 else near  # d sigma/d tau over tau

        # along and its derivatives by rho, by tau over tau, and by par with tau moving
        # along. Inwards the terms of each cancel; there they are written with
        # k_in = tau + par.
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
        grad_u = number(steps, GRAD_U, i) / root
        grad_across = shrink * number(steps, GRAD_ACROSS, i) / root
        towards = decay * (along * grad_u + sigma * grad_across)
        z_u = value * grad_u + (towards * along if rho > 0.0 else 0.0)
        z_across = value * grad_across + towards * sigma * square

        # By v.
        slope, ratio = number(points, SLOPE, i), number(points, RATIO, i)
        by_rho = slope * z_u * along_rho
        outward = value * (along * grad_u + sigma * grad_across)
        note(steps, MOMENT, i, by_rho * rho / ratio - outward)
        note(steps, V_OF_GRAD, i, ratio * turn * value)
        of_across = root * ratio * shrink * sigma * (turn * towards + tilt * z_u)
        note(steps, V_OF_ACROSS, i, of_across)
        straight = root * (by_rho - ratio * turn * value * grad_u)
        leak, inverse_length = number(steps, LEAK, i), number(points, INVERSE_LENGTH, i)
        note(steps, V_OF_V, i, (straight - of_across * leak) * inverse_length)

        # By the saturated t, and from there to t: shrink of it, and what is along t by
        # the slope.
        by_u = z_u * along_par + z_across * bend * par + sigma * (towards * along - z_u)
        by_across = z_u * along_tau + z_across * bend + sigma * towards * sigma
        by_grad = sigma * value
        by_t = by_grad * (par * grad_u + grad_across) + by_u * par + by_across * square
        slope_t = number(steps, SLOPE_T, i)
        by_t *= (slope_t - shrink) / q if tau > MAX_RADIUS else 0.0
        note(steps, T_OF_GRAD, i, scale * shrink * by_grad / root)
        of_across = shrink * (shrink * by_across + by_t)
        note(steps, T_OF_ACROSS, i, scale * of_across)
        by_v = shrink * by_u + by_t * par - of_across * leak
        note(steps, T_OF_V, i, scale * by_v * inverse_length)


@compiled(error_model="numpy", nogil=True)
def translate_backward(
    first_chunk: int,
    last_chunk: int,
    v: Floats,
    t: Doubles,
    root: float,
    bounds: Ints,
    grad: Floats,
    grad_v: Floats,
    grad_t: Floats,
    grad_shared: Doubles,
    moment: Doubles,
) -> None:
    """Gradients by v and t of ``translate(v_i, t_i)``.

    If ``t`` has one row for all, ``grad_shared`` gets a row for each chunk in place of ``grad_t``.
    ``moment`` gets for each chunk the sum of v times its gradient, minus that of outputs.
    """
    one = len(t) == 1
    for chunk in range(first_chunk, last_chunk):
        points, steps = np.empty(2 * COLUMNS * STRIDE), np.empty(NUMBERS * STRIDE)
        across, total = np.empty((BLOCK, v.shape[1])), 0.0
        if one:
            grad_shared[chunk] = 0.0
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            hi = min(lo + BLOCK, bounds[chunk + 1])
            translation_factors(v, points, t, root, root, lo, hi, grad, across, steps)
            for row in range(lo, hi):
                i = row - lo
                total += number(steps, MOMENT, i)
                of_grad, of_v = number(steps, V_OF_GRAD, i), number(steps, V_OF_V, i)
                of_across = number(steps, V_OF_ACROSS, i)
                combine(grad_v, row, ((of_grad, grad, row), (of_v, v, row), (of_across, across, i)))
                of_grad, of_v = number(steps, T_OF_GRAD, i), number(steps, T_OF_V, i)
                of_across = number(steps, T_OF_ACROSS, i)
                terms = (of_grad, grad, row), (of_v, v, row), (of_across, across, i)
                if one:
                    combine(grad_shared, chunk, ((1.0, grad_shared, chunk), *terms))
                else:
                    combine(grad_t, row, terms)
        moment[chunk] = total
