"""Aggregation as seen from each point: the paper's mean of local logarithms, and a centroid step.

The logarithm of v_j at v_i is ``kappa (along u_i + sinh(rho_j) (u_j - u_i)) / sqrt(c)``, with
``along = sinh(rho_j - rho_i) - 2 s sinh(rho_j) (cosh(rho_i) - 1)``. See ``docs/kernels.md``,
section 4. Without ``kappa`` the same sum, over that of ``cosh(D)``, leads to the Lorentz centroid.
"""

from __future__ import annotations

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
    add_differences,
    at,
    combine,
    note,
    number,
    scale_row,
)
from hgcn.kernels.numba_cpu.lanes import BLOCK, STRIDE
from hgcn.kernels.numba_cpu.points import INVERSE_LENGTH, Points
from hgcn.kernels.numba_cpu.scalars import kappa_of
from hgcn.kernels.rows import Doubles, Floats

OF_U, OF_DIFFERENCE, COSH = range(NUMBERS, NUMBERS + 3)
"""More numbers of an edge: factors of u_i and of ``u_j - u_i``, and w cosh(D)."""


@compiled(error_model="numpy", nogil=True)
def local_forward(
    first_chunk: int, last_chunk: int, targets: Points, sources: Points, edges: WeightedEdges,
    step: Floats, time: Doubles | None,
) -> None:  # fmt: skip
    """The sum of local logarithms of each row, times sqrt(c).

    If ``time`` is given, without ``kappa``, and it gets the sum of ``cosh(D)``.
    """
    x, polar, y = targets.vector, targets.polar, sources.vector
    start, source = edges.start, edges.source
    weight, bounds = edges.weight, edges.bounds
    for chunk in range(first_chunk, last_chunk):
        block, unit = np.empty((NUMBERS + 3) * STRIDE), np.empty((1, x.shape[1]))
        total = np.empty((BLOCK, x.shape[1]))
        for first in range(bounds[chunk], bounds[chunk + 1], BLOCK):
            last = min(first + BLOCK, bounds[chunk + 1])
            total[:] = 0.0
            begin = first
            for lo in range(start[first], start[last], BLOCK):
                hi = min(lo + BLOCK, start[last])
                while start[begin + 1] <= lo:
                    begin += 1
                load_edges(targets, sources, edges, begin, lo, hi, unit, block, None, 0)
                for b in range(hi - lo):
                    p_i, f_i, sinh_i = (
                        number(block, P_I, b), number(block, F_I, b), number(block, SINH_I, b)
                    )  # fmt: skip
                    p_j, f_j, sinh_j = (
                        number(block, P_J, b), number(block, F_J, b), number(block, SINH_J, b)
                    )  # fmt: skip
                    sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
                    cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
                    half_i = p_i * (1.0 + f_i)  # 2 sinh(rho_i/2)
                    sinh_j_s = sinh_j * number(block, S, b)
                    h = sinh_half_gap * sinh_half_gap + sinh_i * sinh_j_s
                    w = np.float64(at(weight, lo + b))
                    factor = w
                    if time is None:
                        factor *= kappa_of(h)[0]
                    else:
                        note(block, COSH, b, w * (1.0 + 2.0 * h))
                    sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
                    note(block, OF_U, b, factor * (sinh_gap - sinh_j_s * half_i * half_i))
                    note(block, OF_DIFFERENCE, b, factor * sinh_j)
                i, e = begin, lo
                while e < hi:
                    end, along = min(hi, start[i + 1]), 0.0
                    for b in range(e - lo, end - lo):
                        along += number(block, OF_U, b)
                        if time is not None:
                            time[i] += number(block, COSH, b)
                    scale_row(unit, 0, x, i, polar[i, INVERSE_LENGTH])
                    combine(total, i - first, ((1.0, total, i - first), (along, unit, 0)))
                    add_differences(
                        total, i - first, y, source, e, end - e, block, OF_DIFFERENCE, e - lo,
                        SCALE, unit, 0,
                    )  # fmt: skip
                    e = end
                    i += 1
            for i in range(first, last):
                scale_row(step, i, total, i - first, 1.0)
