"""Newton's method for the Fréchet mean of each neighbourhood (``docs/kernels.md``, section 4).

Half the weighted sum of squared distances has the gradient ``-g`` with ``g = sum_j w_ij L_j`` for
the local logarithms L_j, and the Hessian

    H = (1 + sum_j w_ij e_j) - sum_j w_ij (e_j/D_j²) L_j L_j^T,      e_j = D_j coth(D_j) - 1

which is 1 along a geodesic and ``D coth(D)`` across it. ``H p = g`` is solved by conjugate
gradients: a product with H is a pass over the row, whose points are near the processor by then, and
no H is ever stored. On the way along p, H changes by at most a factor that grows with the way, so a
step of ``log(1 + r)/r`` times p, with ``r = SLOPE |p|``, never overshoots; near the mean it is p.
"""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.edges import (
    F_I,
    F_J,
    NUMBERS,
    P_I,
    P_J,
    SCALE,
    SINH_I,
    SINH_J,
    S,
    WeightedEdges,
    load_edges,
)
from hgcn.kernels.numba_cpu.instructions import (
    add_rows,
    at,
    combine,
    dot,
    note,
    number,
    scale_row,
)
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import Points
from hgcn.kernels.numba_cpu.scalars import kappa_of
from hgcn.kernels.rows import Doubles

SLOPE = 2.0
MOST_PRODUCTS = 24
"""Conjugate gradients need no more directions than there are dimensions that differ."""
ROUGH = 0.1
"""How much of g a direction may leave unsolved while the mean is far."""

MORE = 5
OF_U, OF_DIFFERENCE, BEND, EXCESS, FACTOR = range(NUMBERS, NUMBERS + MORE)
"""More numbers of an edge: ``L = OF_U u_i + OF_DIFFERENCE (u_j - u_i)``; ``w e/D²`` and ``w e``;
and what its logarithm is multiplied with in a sum.
"""


@compiled(inside=True, error_model="numpy")
def load_logarithms(
    targets: Points, sources: Points, edges: WeightedEdges, i: int, lo: int, hi: int,
    unit: Doubles, block: Doubles, logs: Doubles,
) -> None:  # fmt: skip
    """Find the numbers and the logarithms of at most BLOCK edges of row i."""
    load_edges(targets, sources, edges, i, lo, hi, unit, block, None, 0)
    for b in range(hi - lo):
        p_i, f_i, sinh_i = number(block, P_I, b), number(block, F_I, b), number(block, SINH_I, b)
        p_j, f_j, sinh_j = number(block, P_J, b), number(block, F_J, b), number(block, SINH_J, b)
        sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
        cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
        half_i = p_i * (1.0 + f_i)  # 2 sinh(rho_i/2)
        sinh_j_s = sinh_j * number(block, S, b)
        h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j_s
        kappa = kappa_of(h)[0]
        sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
        note(block, OF_U, b, kappa * (sinh_gap - sinh_j_s * half_i * half_i))
        note(block, OF_DIFFERENCE, b, kappa * sinh_j)
        # D = kappa sinh(D), and e = kappa cosh(D) - 1, which is D²/3 - D⁴/45 near zero.
        square = 4.0 * kappa * kappa * h * (1.0 + h)
        far = (kappa * (1.0 + 2.0 * h) - 1.0) / square
        bend = at(edges.weight, lo + b) * (far if h > 1e-6 else 1.0 / 3.0 - 4.0 / 45.0 * h)
        note(block, BEND, b, bend)
        note(block, EXCESS, b, bend * square)
    for b in range(hi - lo):
        j, of_difference = at(edges.source, lo + b), number(block, OF_DIFFERENCE, b)
        # The difference first, as it must be zero where the directions are equal.
        scale_row(logs, b, sources.vector, j, number(block, SCALE, b))
        combine(logs, b, ((1.0, logs, b), (-1.0, unit, 0)))
        combine(logs, b, ((of_difference, logs, b), (number(block, OF_U, b), unit, 0)))


@compiled(error_model="numpy", nogil=True)
def newton_rows(
    first_chunk: int, last_chunk: int, targets: Points, sources: Points, edges: WeightedEdges,
    given: bool, close: float, length: Doubles, step: Doubles,
) -> None:  # fmt: skip
    """A step of Newton's method for each row, in units of the curvature radius.

    ``length`` has that of the step before, and gets that of this one; rows where it is zero are
    left alone, with a step of zero, and it becomes zero after a step no longer than ``close``, or
    where another one would not help. If ``step`` is ``given``, it is g, of which no more than
    ``close`` is left unsolved, and ``length`` is not looked at.
    """
    start, weight, bounds, d = edges.start, edges.weight, edges.bounds, step.shape[1]
    every = np.arange(BLOCK, dtype=np.int32)
    for chunk in range(first_chunk, last_chunk):
        block, unit = np.empty((NUMBERS + MORE) * STRIDE), np.empty((1, d))
        logs, p, left = np.empty((BLOCK, d)), np.empty((1, d)), np.empty((1, d))
        way, product = np.empty((1, d)), np.empty((1, d))
        for i in range(bounds[chunk], bounds[chunk + 1]):
            if not given:
                step[i] = 0.0
                if length[i] == 0.0:
                    continue
            scale, size = 1.0, start[i + 1] - start[i]
            for lo in range(start[i], start[i + 1], BLOCK):
                hi = min(lo + BLOCK, start[i + 1])
                load_logarithms(targets, sources, edges, i, lo, hi, unit, block, logs)
                for b in range(hi - lo):
                    scale += number(block, EXCESS, b)
                    note(block, FACTOR, b, at(weight, lo + b))
                if not given:
                    add_rows(step, i, logs, every, 0, hi - lo, block, FACTOR, 0)
            # Conjugate gradients for H p = g.
            p[:] = 0.0
            scale_row(left, 0, step, i, 1.0)
            scale_row(way, 0, step, i, 1.0)
            squared = dot(left, 0, left, 0)
            enough = squared * (close * close if given else min(ROUGH * ROUGH, squared))
            for _ in range(min(MOST_PRODUCTS, d + 2)):
                if not squared > enough:
                    break
                scale_row(product, 0, way, 0, scale)
                for lo in range(start[i], start[i + 1], BLOCK):
                    hi = min(lo + BLOCK, start[i + 1])
                    if size > BLOCK:
                        load_logarithms(targets, sources, edges, i, lo, hi, unit, block, logs)
                    for b in range(hi - lo):
                        note(block, FACTOR, b, -number(block, BEND, b) * dot(logs, b, way, 0))
                    add_rows(product, 0, logs, every, 0, hi - lo, block, FACTOR, 0)
                share = squared / dot(way, 0, product, 0)
                combine(p, 0, ((1.0, p, 0), (share, way, 0)))
                combine(left, 0, ((1.0, left, 0), (-share, product, 0)))
                before, squared = squared, dot(left, 0, left, 0)
                combine(way, 0, ((1.0, left, 0), (squared / before, way, 0)))
            if given:
                scale_row(step, i, p, 0, 1.0)
                continue
            far = math.sqrt(dot(p, 0, p, 0))
            slope = SLOPE * far
            scale_row(step, i, p, 0, math.log1p(slope) / slope if slope > 1e-9 else 1.0)
            # Where rounding is all that is left, steps get no shorter.
            done = far < close or (far < 0.01 and far > 0.5 * length[i])
            length[i] = 0.0 if done else far
