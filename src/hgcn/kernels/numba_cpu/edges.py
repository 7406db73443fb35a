"""The first pass over a block of edges: from the vectors of both ends to numbers."""

from __future__ import annotations

from typing import NamedTuple

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import (
    at,
    note,
    prefetch,
    scale_row,
    spread,
    square,
    square_and_product,
)
from hgcn.kernels.numba_cpu.points import (
    AHEAD,
    COLUMNS,
    DECAY,
    GROWTH,
    INVERSE_LENGTH,
    SINH,
    Points,
)
from hgcn.kernels.rows import Doubles, Floats, Ints


class WeightedEdges(NamedTuple):
    """Weighted edges in the order of their targets; those of row i are ``start[i]..start[i+1]``.

    ``bounds`` divides the rows into chunks, which do not depend on the number of threads.
    """

    start: Ints
    source: Ints
    weight: Floats
    bounds: Ints


NUMBERS = 9
SCALE, S, P_I, F_I, SINH_I, P_J, F_J, SINH_J, STEP_DIFFERENCE = range(NUMBERS)
"""The numbers of an edge that :func:`load_edges` finds: 1/|v_j|; ``s``, the squared sine of half
the angle between the directions; ``p``, ``f`` and ``sinh(rho)`` of the target and of the source;
the product of P_i and ``u_j - u_i``.
"""


@compiled(inside=True, error_model="numpy")
def load_edges(
    targets: Points, sources: Points, edges: WeightedEdges, row: int, lo: int, hi: int,
    unit: Doubles, block: Doubles, by_step: Doubles | None, first: int,
) -> None:  # fmt: skip
    """Find the numbers of the edges lo to hi.

    Args:
        targets, sources: the points of both sides.
        edges: the edges.
        row: that of the edge lo.
        lo, hi: at most BLOCK of them.
        unit: a row to compute with.
        block: the numbers to find.
        by_step: P of the rows from ``first`` on, if their products are wanted.
        first: the row of ``by_step[0]``.
    """
    x, y, start, source = targets.vector, sources.vector, edges.start, edges.source
    polar_i, polar_j, final = targets.polar.reshape(-1), sources.polar.reshape(-1), len(source) - 1
    i, e = row, lo
    while e < hi:
        end, mine = min(hi, start[i + 1]), COLUMNS * i
        scale_row(unit, 0, x, i, at(polar_i, mine + INVERSE_LENGTH))
        spread(block, P_I, e - lo, end - lo, at(polar_i, mine + GROWTH))
        spread(block, F_I, e - lo, end - lo, at(polar_i, mine + DECAY))
        spread(block, SINH_I, e - lo, end - lo, at(polar_i, mine + SINH))
        for b in range(e - lo, end - lo):
            soon, j = at(source, min(lo + b + AHEAD, final)), at(source, lo + b)
            prefetch(y, soon)
            prefetch(sources.polar, soon)
            theirs = COLUMNS * j
            scale = at(polar_j, theirs + INVERSE_LENGTH)
            note(block, SCALE, b, scale)
            note(block, P_J, b, at(polar_j, theirs + GROWTH))
            note(block, F_J, b, at(polar_j, theirs + DECAY))
            note(block, SINH_J, b, at(polar_j, theirs + SINH))
            if by_step is None:
                note(block, S, b, 0.25 * square(y, j, scale, unit, 0))
            else:
                whole, product = square_and_product(y, j, scale, unit, 0, by_step, i - first)
                note(block, S, b, 0.25 * whole)
                note(block, STEP_DIFFERENCE, b, product)
        e = end
        i += 1
