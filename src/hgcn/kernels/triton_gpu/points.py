"""The polar form of points, which the kernels compute with, and gradients from there to vectors.

As in ``hgcn.kernels.numba_cpu.points`` (``docs/kernels.md``, sections 1 and 6), but an edge reads
less: of each end its direction ``u``, and the one number ``p = exp(rho/2) - 1``, of which the other
hyperbolic functions are made.

Work on points goes in passes over their columns: vectors to numbers, formulas on numbers, numbers
to vectors. Each pass reads the vectors again, a few columns of a tile at a time.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels.triton_gpu.scalars import expm1, saturate
from hgcn.kernels.triton_gpu.tiles import (
    kernel,
    point_tile,
    programs,
    rows_of_program,
    spread,
    zeros_on,
)

TINY = tl.constexpr(1e-37)
"""A vector with no entry beyond this is the origin."""


class Points(NamedTuple):
    """The points of one side of the graph: directions ``[n, d]``, and p of each."""

    direction: Tensor
    growth: Tensor


@triton.jit
def load_rows(x, row, rows, column, d):
    """A tile of the matrix x ``[rows, d]``, zero outside of it."""
    inside = (row < rows)[:, None] & (column < d)[None, :]
    return tl.load(x + row.to(tl.int64)[:, None] * d + column[None, :], mask=inside, other=0.0)


@triton.jit
def store_rows(x, row, rows, column, d, value):
    """Write a tile to the matrix x ``[rows, d]``."""
    inside = (row < rows)[:, None] & (column < d)[None, :]
    at = x + row.to(tl.int64)[:, None] * d + column[None, :]
    tl.store(at, value.to(x.dtype.element_ty), mask=inside)


@triton.jit
def sizes_of(x, row, rows, d, WIDTH: tl.constexpr, D: tl.constexpr):
    """Of rows of x their largest entries, and the sums of squares of their entries over these.

    The square of an entry itself might be too large or too small for its type.
    """
    largest = tl.zeros([row.shape[0]], x.dtype.element_ty)
    square = largest
    for first in range(0, WIDTH, D):
        v = load_rows(x, row, rows, first + tl.arange(0, D), d)
        most = tl.maximum(largest, tl.max(tl.abs(v), 1))
        inverse = 1.0 / tl.where(most > TINY, most, 1.0)
        scaled = v * inverse[:, None]
        change = largest * inverse
        square = square * change * change + tl.sum(scaled * scaled, 1)
        largest = most
    return largest, square


@triton.jit
def inverses_of(largest, square):
    """Of what :func:`sizes_of` returns two factors of unit vectors; the second is 0 at the origin.

    Their product might be too large for its type.
    """
    there = largest > TINY
    inverse = tl.where(there, 1.0 / tl.sqrt(tl.where(there, square, 1.0)), 0.0)
    return 1.0 / tl.where(there, largest, 1.0), inverse


@triton.jit
def unit(v, inverses):
    """The directions of a tile of vectors, by the factors of :func:`inverses_of`."""
    return v * inverses[0][:, None] * inverses[1][:, None]


@triton.jit
def length_of(largest, square, zeros):
    """Lengths in float64 of what :func:`sizes_of` returns."""
    square = spread(square, zeros).to(tl.float64)
    largest = spread(tl.where(largest > TINY, largest, 0.0), zeros)
    return largest.to(tl.float64) * tl.sqrt(square)


@triton.jit
def decay_and_sinh(p):
    """The numbers f = exp(-rho/2) and sinh(rho), of p = exp(rho/2) - 1."""
    f = 1.0 / (1.0 + p)
    return f, 0.5 * p * (1.0 + f) * (1.0 + p + f)


@triton.jit
def radial_of(length, root):
    """The radius rho, its derivative by root |v|, the ratio of these, and p; all in one type."""
    radius = tl.minimum(root * length, 1e30)
    rho, slope = saturate(radius)
    ratio = tl.where(radius > 0.0, rho / tl.where(radius > 0.0, radius, 1.0), 1.0)
    return rho, slope, ratio, expm1(0.5 * rho)


@triton.jit
def sinhc_of(rho, p):
    """sinh(rho)/rho, 1 at the origin."""
    _, sinh = decay_and_sinh(p)
    return tl.where(rho > 0.0, sinh / tl.where(rho > 0.0, rho, 1.0), 1.0)


@triton.jit
def gradient_by_vector(rho, slope, ratio, root, by_rho, turn_u):
    """Carry the gradient of points from (rho, u) to v.

    The gradient by u is ``rho * turn`` with a vector ``turn`` that is finite at the origin.

    Returns:
        Two factors, the first of u and the second of ``turn``, with which these add up to the
        gradient by v; and the product of v and this gradient.
    """
    of_u = root * (slope * by_rho - ratio * turn_u)
    return of_u, root * ratio, slope * by_rho * rho / ratio


@kernel
def _polar(
    v, c, zeros, direction, growth, rows, d,
    TILE: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    row = rows_of_program(TILE)
    root = tl.sqrt(tl.load(c).to(tl.float64))
    largest, square = sizes_of(v, row, rows, d, WIDTH, D)
    _, _, _, p = radial_of(length_of(largest, square, zeros), root)
    tl.store(growth + row, p.to(growth.dtype.element_ty), mask=row < rows)
    inverses = inverses_of(largest, square)
    for first in range(0, WIDTH, D):
        column = first + tl.arange(0, D)
        u = unit(load_rows(v, row, rows, column, d), inverses)
        store_rows(direction, row, rows, column, d, u)


def polar_form(v: Tensor, c: Tensor) -> Points:
    """Directions and p of points; the radii are computed in float64."""
    rows, d = v.shape
    points = Points(torch.empty_like(v), v.new_empty(rows))
    if rows:
        _polar[programs(rows)](v, c, zeros_on(v.device), *points, rows, d, **point_tile(d, v))
    return points
