"""The compiled loop that fits a plane picture to distances: stochastic stress minimisation."""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.scalars import asinhc, expm1


@compiled(inside=True, error_model="numpy")
def difference(bx: float, by: float, x: float, y: float, flat: bool) -> tuple[float, float]:
    """The local logarithm of (x, y) at (bx, by), both in normal coordinates of curvature -1.

    With b negated it is the walk from b along (x, y). The formulas are those of
    :mod:`hgcn.geometry.normal`, written for two dimensions; the sine of the angle is taken from
    the difference of the points, which for near points has no rounding error.
    """
    dx, dy = x - bx, y - by
    rho_b, rho = math.sqrt(bx * bx + by * by), math.sqrt(x * x + y * y)
    if flat or rho_b < 1e-150 or rho < 1e-150:
        return dx, dy
    sine = (bx * dy - by * dx) / (rho_b * rho)
    cosine = (bx * x + by * y) / (rho_b * rho)
    half = sine * sine / (2 + 2 * cosine) if cosine > 0 else (1 - cosine) / 2
    # Hyperbolic functions of both radii and of their difference, as in the kernels.
    p_b, p = expm1(0.5 * rho_b), expm1(0.5 * rho)
    f_b, f = 1.0 / (1.0 + p_b), 1.0 / (1.0 + p)
    sinh = 0.5 * p * (1.0 + f) * (1.0 + p + f)
    sinh_half_b = 0.5 * p_b * (1.0 + f_b)
    sinh_gap = 0.5 * (p - p_b) * (f_b + f) * ((1.0 + p) * f_b + (1.0 + p_b) * f)
    along = sinh_gap - 2 * (1.0 + 2.0 * sinh_half_b * sinh_half_b) * sinh * half
    across = sinh * sine
    length = math.sqrt(along * along + across * across)
    if length == 0:
        return 0.0, 0.0
    k = asinhc(length)[0] / rho_b
    return k * (along * bx - across * by), k * (along * by + across * bx)


@compiled(error_model="numpy", nogil=True)
def sweep(
    drawn: np.ndarray, pairs: np.ndarray, distance: np.ndarray, rate: float, flat: bool
) -> None:
    """Go through the pairs once; move both ends of each along their geodesic, in place.

    ``distance`` holds how far apart the ends of each pair should be. At rate 1 the two ends meet
    at this distance; lower rates settle the compromise between pairs (Zheng, Pawar and Goodman,
    2018, "Graph drawing by stochastic gradient descent").
    """
    for p in range(pairs.shape[1]):
        i, j = pairs[0, p], pairs[1, p]
        if i == j:
            continue
        true = distance[p]
        xi, yi, xj, yj = drawn[i, 0], drawn[i, 1], drawn[j, 0], drawn[j, 1]
        ax, ay = difference(xi, yi, xj, yj, flat)
        length = math.sqrt(ax * ax + ay * ay)
        if length < 1e-12 or true == 0:
            continue
        bx, by = difference(xj, yj, xi, yi, flat)
        share = 0.5 * rate * (1 - true / length)
        drawn[i, 0], drawn[i, 1] = difference(-xi, -yi, share * ax, share * ay, flat)
        drawn[j, 0], drawn[j, 1] = difference(-xj, -yj, share * bx, share * by, flat)
