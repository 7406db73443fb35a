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
from hgcn.kernels.numba_cpu.instructions import dot, note, number, put
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.scalars import expm1, saturate
from hgcn.kernels.rows import Doubles, Floats

AHEAD = 16
"""Number of edges between the prefetch of a row of memory and its use."""

COLUMNS = 4
INVERSE_LENGTH, GROWTH, DECAY, SINH, RADIUS, SLOPE, RATIO, SINHC = range(2 * COLUMNS)
"""The numbers of a point: 1/|v|, p, f and sinh(rho), which an edge needs of both ends, and which
are the columns of the table ``polar``. Only gradients need the others: the radius rho, its
derivative by sqrt(c)|v|, the ratio of these two, and sinh(rho)/rho.
"""


class Points(NamedTuple):
    """The points of one side of the graph: vectors ``[n, d]`` and the table of their numbers."""

    vector: Floats
    polar: Doubles


@compiled(error_model="numpy")
def find_polar(v: Floats, root: float, block: Doubles) -> None:
    """Find all numbers of at most BLOCK points v."""
    for i in range(len(v)):
        note(block, RADIUS, i, dot(v, i, v, i))
    for i in range(len(v)):
        length = math.sqrt(number(block, RADIUS, i))
        radius = root * length
        rho, slope = saturate(radius)
        p = expm1(0.5 * rho)
        f = 1.0 / (1.0 + p)
        sinh = 0.5 * p * (1.0 + f) * (1.0 + p + f)
        note(block, INVERSE_LENGTH, i, 1.0 / length if length > 0.0 else 0.0)
        note(block, GROWTH, i, p)
        note(block, DECAY, i, f)
        note(block, SINH, i, sinh)
        note(block, RADIUS, i, rho)
        note(block, SLOPE, i, slope)
        note(block, RATIO, i, rho / radius if radius > 0.0 else 1.0)
        note(block, SINHC, i, sinh / rho if rho > 0.0 else 1.0)


@compiled(error_model="numpy", nogil=True)
def _fill_table(first_chunk: int, last_chunk: int, v: Floats, root: float, polar: Doubles) -> None:
    """Fill the columns of some blocks of points; ``polar`` is a list, row after row."""
    block = np.empty(2 * COLUMNS * STRIDE)
    for chunk in range(first_chunk, last_chunk):
        lo, hi = chunk * BLOCK, min((chunk + 1) * BLOCK, len(v))
        find_polar(v[lo:hi], root, block)
        for i in range(hi - lo):
            for k in range(COLUMNS):
                put(polar, COLUMNS * (lo + i) + k, number(block, k, i))


def polar_form(v: Floats, root: float) -> Doubles:
    """The table ``polar`` of any number of points."""
    polar = np.empty((len(v), COLUMNS))
    chunks = (len(v) + BLOCK - 1) // BLOCK
    in_chunks(_fill_table, chunks, v, root, polar.reshape(-1))
    return polar


@compiled(inside=True, error_model="numpy", forceinline=True)
def gradient_by_vector(
    block: Doubles, i: int, root: float, by_rho: float, turn_u: float
) -> tuple[float, float, float]:
    """Carry the gradient of point i from (rho, u) to v.

    The gradient by u is ``rho * turn`` with a vector ``turn`` that is finite at the origin. Only
    its component across u counts, for u has length one.

    Args:
        block: the numbers of the points.
        i: number of the point.
        root: sqrt(c).
        by_rho: the gradient by rho.
        turn_u: the inner product of ``turn`` and u.

    Returns:
        Two factors, the first of v and the second of ``turn``, with which these add up to the
        gradient by v; and the product of v and this gradient.
    """
    slope, ratio = number(block, SLOPE, i), number(block, RATIO, i)
    by_v = root * (slope * by_rho - ratio * turn_u) * number(block, INVERSE_LENGTH, i)
    return by_v, root * ratio, slope * by_rho * number(block, RADIUS, i) / ratio
