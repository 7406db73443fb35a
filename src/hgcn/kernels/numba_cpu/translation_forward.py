"""Translation of points, ``log_o exp_x P_{o->x} t``: the numbers of a step, and the forward pass.

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
from hgcn.kernels.numba_cpu.instructions import combine, dot, note, number, spread
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import (
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    SINH,
    find_polar,
)
from hgcn.kernels.numba_cpu.scalars import asinhc, expm1, saturate
from hgcn.kernels.rows import Doubles, Floats, Ints

NUMBERS = 13
(
    T_T, T_U, ACROSS_ACROSS, LEAK, TAU, SLOPE_T, SHRINK, P_T, F_T, COSH_TAU, SIGMA, OF_V, OF_ACROSS
) = range(NUMBERS)  # fmt: skip
"""The numbers of a step: products of t, u and ``across`` and its leak; its saturated length, the
slope of that and its ratio to the length; functions of it; and factors of vectors in the result.
"""


@compiled(inside=True, error_model="numpy")
def decompose_steps(
    v: Floats, points: Doubles, t: Doubles, scale: float, first: int, across: Doubles,
    steps: Doubles,
) -> None:  # fmt: skip
    """Set ``across`` to the component of each step across u, and find the numbers of steps.

    The leak is the product of ``across`` and u, a rounding error that counts far out. It is taken
    away from ``across`` at each use.

    Args:
        v, points: points in normal coordinates, and their numbers.
        t: the steps over ``scale``; one row is the same for all.
        scale: factor of the steps.
        first: the row of ``t`` for the first point.
        across, steps: to be filled.
    """
    rows, one = len(v), len(t) == 1
    for i in range(rows):
        row, inverse_length = 0 if one else first + i, number(points, INVERSE_LENGTH, i)
        par = scale * dot(t, row, v, i) * inverse_length
        combine(across, i, ((scale, t, row), (-par * inverse_length, v, i)))
        note(steps, T_U, i, par)
        note(steps, ACROSS_ACROSS, i, dot(across, i, across, i))
        note(steps, LEAK, i, dot(across, i, v, i) * inverse_length)
    count = 1 if one else rows
    for i in range(count):
        row = 0 if one else first + i
        note(steps, T_T, i, scale * scale * dot(t, row, t, row))
    for i in range(count):
        length = math.sqrt(number(steps, T_T, i))
        tau, slope = saturate(length)
        p = expm1(0.5 * tau)
        f = 1.0 / (1.0 + p)
        twice_sinh_half = p * (1.0 + f)
        sigma = 0.5 * twice_sinh_half * (1.0 + p + f) / tau if tau > 0.0 else 1.0
        note(steps, TAU, i, tau)
        note(steps, SLOPE_T, i, slope)
        note(steps, SHRINK, i, tau / length if length > 0.0 else 1.0)
        note(steps, P_T, i, p)
        note(steps, F_T, i, f)
        note(steps, COSH_TAU, i, 1.0 + 0.5 * twice_sinh_half * twice_sinh_half)
        note(steps, SIGMA, i, sigma)
    if one:
        for k in range(TAU, SIGMA + 1):
            spread(steps, k, 0, rows, number(steps, k, 0))


@compiled(error_model="numpy", nogil=True)
def translate_forward(
    first_chunk: int, last_chunk: int, v: Floats, t: Doubles, scale: float, root: float,
    bounds: Ints, out: Floats,
) -> None:  # fmt: skip
    """out_i = translate(v_i, scale t_i / root); a ``t`` of one row is the same for all."""
    for chunk in range(first_chunk, last_chunk):
        points, steps = np.empty(2 * COLUMNS * STRIDE), np.empty(NUMBERS * STRIDE)
        across = np.empty((BLOCK, v.shape[1]))
        for lo in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            rows = min(BLOCK, bounds[chunk + 1] - lo)
            find_polar(v[lo : lo + rows], root, points)
            decompose_steps(v[lo : lo + rows], points, t, scale, lo, across, steps)
            for i in range(rows):
                p, f, sinh_rho = (
                    number(points, GROWTH, i),
                    number(points, DECAY, i),
                    number(points, SINH, i),
                )
                twice_sinh_half = p * (1.0 + f)
                cosh_rho = 1.0 + 0.5 * twice_sinh_half * twice_sinh_half
                tau, shrink = number(steps, TAU, i), number(steps, SHRINK, i)
                par, square = (
                    shrink * number(steps, T_U, i),
                    shrink * shrink * number(steps, ACROSS_ACROSS, i),
                )
                p_t, f_t = number(steps, P_T, i), number(steps, F_T, i)
                cosh_tau, sigma = number(steps, COSH_TAU, i), number(steps, SIGMA, i)
                # Inwards, where the two terms of the other form cancel.
                sinh_gap = 0.5 * (p - p_t) * (f + f_t) * ((1.0 + p) * f_t + (1.0 + p_t) * f)
                inward = sinh_gap + cosh_rho * sigma * square / (tau - par)
                along = cosh_tau * sinh_rho + cosh_rho * sigma * par
                along = inward if par < 0.0 else along
                factor, _ = asinhc(math.sqrt(along * along + sigma * sigma * square))
                factor /= root
                of_across = sigma * shrink * factor
                of_u = along * factor - of_across * number(steps, LEAK, i)
                note(steps, OF_ACROSS, i, of_across)
                note(steps, OF_V, i, of_u * number(points, INVERSE_LENGTH, i))
            for i in range(rows):
                of_v, of_across = number(steps, OF_V, i), number(steps, OF_ACROSS, i)
                combine(out, lo + i, ((of_v, v, lo + i), (of_across, across, i)))
