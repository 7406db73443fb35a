"""The polar form of points, which the kernels compute with, and gradients from there to vectors.

A point v of curvature -c is its radius ``rho = sqrt(c) |v|``, saturated beyond 40, and its unit
direction ``u = v/|v|``, which is zero at the origin. ``root`` is sqrt(c) everywhere.

Hyperbolic functions of radii come from ``p = exp(rho/2) - 1`` and ``f = exp(-rho/2)`` without a
loss of digits: ``2 sinh(x/2) = p_x (1 + f_x)`` and ``2 sinh((x - y)/2) = (p_x - p_y) (f_x + f_y)``.
The formulas are derived in ``docs/kernels.md``, sections 1 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.numba_cpu.instructions import dot
from hgcn.kernels.numba_cpu.scalars import expm1, saturate
from hgcn.kernels.rows import Doubles, Floats

BLOCK = 128
"""Number of rows or edges in a block: their numbers stay near the processor."""

AHEAD = 16
"""Number of edges between the prefetch of a row of memory and its use."""

COLUMNS = 4
INVERSE_LENGTH, GROWTH, DECAY, SINH = range(COLUMNS)
"""Columns of ``polar``, the numbers that an edge needs of both ends: 1/|v|, p, f, sinh(rho)."""

RADIUS, SLOPE, RATIO, SINHC = range(COLUMNS)
"""Columns of ``radial``, the numbers that only gradients need.

The radius rho, its derivative by sqrt(c)|v|, the ratio of these two, and sinh(rho)/rho.
"""


class Points(NamedTuple):
    """The points of one side of the graph: vectors ``[n, d]`` and their polar form."""

    vector: Floats
    polar: Doubles
    radial: Doubles


@compiled(error_model="numpy")
def fill_polar(v: Floats, root: float, polar: Doubles, radial: Doubles) -> None:
    """Fill the columns of ``polar`` and ``radial`` for at most BLOCK points v."""
    rows = len(v)
    square = np.empty(BLOCK)
    for i in range(rows):
        square[i] = dot(v, i, v, i)
    # Flat, as the compiler must know how far apart the rows are.
    flat, flat_radial = polar.reshape(-1), radial.reshape(-1)
    for i in range(rows):
        length = math.sqrt(square[i])
        radius = root * length
        rho, slope = saturate(radius)
        p = expm1(0.5 * rho)
        f = 1.0 / (1.0 + p)
        sinh = 0.5 * p * (1.0 + f) * (1.0 + p + f)
        flat[COLUMNS * i + INVERSE_LENGTH] = 1.0 / length if length > 0.0 else 0.0
        flat[COLUMNS * i + GROWTH] = p
        flat[COLUMNS * i + DECAY] = f
        flat[COLUMNS * i + SINH] = sinh
        flat_radial[COLUMNS * i + RADIUS] = rho
        flat_radial[COLUMNS * i + SLOPE] = slope
        flat_radial[COLUMNS * i + RATIO] = rho / radius if radius > 0.0 else 1.0
        flat_radial[COLUMNS * i + SINHC] = sinh / rho if rho > 0.0 else 1.0


@compiled(error_model="numpy", nogil=True)
def _fill_blocks(
    first_chunk: int, last_chunk: int, v: Floats, root: float, polar: Doubles, radial: Doubles
) -> None:
    """Fill the columns of some blocks of points."""
    for block in range(first_chunk, last_chunk):
        lo, hi = block * BLOCK, min((block + 1) * BLOCK, len(v))
        fill_polar(v[lo:hi], root, polar[lo:hi], radial[lo:hi])


def polar_form(v: Floats, root: float) -> tuple[Doubles, Doubles]:
    """``polar`` and ``radial`` of any number of points."""
    polar, radial = np.empty((len(v), COLUMNS)), np.empty((len(v), COLUMNS))
    in_chunks(_fill_blocks, (len(v) + BLOCK - 1) // BLOCK, v, root, polar, radial)
    return polar, radial


@compiled(inside=True, error_model="numpy", forceinline=True)
def gradient_by_vector(
    polar: Doubles, radial: Doubles, i: int, root: float, by_rho: float, turn_u: float
) -> tuple[float, float, float]:
    """Carry the gradient of point i from (rho, u) to v.

    The gradient by u is ``rho * turn`` with a vector ``turn`` that is finite at the origin. Only
    its component across u counts, for u has length one.

    Args:
        polar, radial: the polar form of the points.
        i: number of the point.
        root: sqrt(c).
        by_rho: the gradient by rho.
        turn_u: the inner product of ``turn`` and u.

    Returns:
        Two factors, the first of v and the second of ``turn``, with which these add up to the
        gradient by v; and the product of v and this gradient.
    """
    slope, ratio = radial[i, SLOPE], radial[i, RATIO]
    by_v = root * (slope * by_rho - ratio * turn_u) * polar[i, INVERSE_LENGTH]
    return by_v, root * ratio, slope * by_rho * radial[i, RADIUS] / ratio
