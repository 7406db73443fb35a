"""The height of a pair of points, by which compiled searches compare distances."""

from __future__ import annotations

import math

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import square_between
from hgcn.kernels.rows import Doubles

PointForm = tuple[Doubles, Doubles]
"""Directions and numbers of points (:mod:`hgcn.nearest.forms`), as compiled functions take them."""


# No sum is reordered, so that H of (i, j) and of (j, i) is the same to the last digit.
@compiled()
def height(one: PointForm, i: int, two: PointForm, j: int, limit: float) -> float:
    """H of point i and another point j, or a smaller number above ``limit`` where H is above it."""
    a, b = one[1][i], two[1][j]
    sh = 0.5 * (a[2] * b[3] - b[2] * a[3])
    if a[0] + b[0] < 0.1:  # the exponentials lose digits here
        half = 0.5 * (a[0] - b[0])
        square = half * half
        sh = half * (1.0 + square / 6.0 * (1.0 + square / 20.0 * (1.0 + square / 42.0)))
    h = sh * sh
    if h > limit:
        return h
    return h + 0.25 * (a[1] * b[1]) * square_between(one[0], i, two[0], j)


@compiled(inside=True)
def length(height: float, curved: bool) -> float:
    """The distance of a height, in units of the curvature radius."""
    root = math.sqrt(height)
    return 2.0 * math.asinh(root) if curved else root


@compiled(inside=True)
def height_of(length: float, curved: bool) -> float:
    """The height of a distance in units of the curvature radius."""
    if not curved:
        return length * length
    sh = math.sinh(0.5 * min(length, 1000.0))
    return sh * sh
