"""The first pass over a block of edges: from the vectors of both ends to numbers."""

from __future__ import annotations

from typing import NamedTuple

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import dot, prefetch
from hgcn.kernels.numba_cpu.points import COLUMNS, INVERSE_LENGTH, Points
from hgcn.kernels.rows import Doubles, Floats, Ints


class WeightedEdges(NamedTuple):
    """Weighted edges in the order of their targets; those of row i are ``start[i]..start[i+1]``.

    ``same`` says that targets and sources are one set of nodes. ``bounds`` divides the rows into
    chunks, which do not depend on the number of threads.
    """

    start: Ints
    target: Ints
    source: Ints
    weight: Floats
    same: bool
    bounds: Ints


class EdgeBlock(NamedTuple):
    """Arrays for the numbers of one block of edges.

    Attributes:
        edge: number of each edge in :class:`WeightedEdges`.
        difference: ``u_j - u_i``, a row for each edge.
        s: the square of ``difference`` over 4, which is the squared sine of half the angle between
            the two directions.
        polar_i, polar_j: the rows of ``polar`` of the target and of the source.
    """

    edge: Ints
    difference: Doubles
    s: Doubles
    polar_i: Doubles
    polar_j: Doubles


@compiled(inside=True, error_model="numpy")
def load_edges(
    targets: Points, sources: Points, edges: WeightedEdges, lo: int, hi: int, block: EdgeBlock
) -> int:
    """Fill the block with the edges lo to hi, without self-loops if both sides are one set.

    A node's logarithm of itself is zero, and so are its gradients.

    Returns:
        The number of edges in the block.
    """
    x, polar_x, y, polar_y = targets.vector, targets.polar, sources.vector, sources.polar
    target, source, same = edges.target, edges.source, edges.same
    edge, difference, s = block.edge, block.difference, block.s
    polar_i, polar_j = block.polar_i, block.polar_j
    d = x.shape[1]
    count = 0
    for e in range(lo, hi):
        j = source[e]
        if not (same and target[e] == j):
            edge[count] = e
            count += 1
            # Rows of sources are anywhere in memory: all are asked for before the first use.
            prefetch(y, j)
            prefetch(polar_y, j)
    for b in range(count):
        i, j = target[edge[b]], source[edge[b]]
        scale_i, scale_j = polar_x[i, INVERSE_LENGTH], polar_y[j, INVERSE_LENGTH]
        for k in range(COLUMNS):
            polar_i[b, k], polar_j[b, k] = polar_x[i, k], polar_y[j, k]
        for k in range(d):
            difference[b, k] = y[j, k] * scale_j - x[i, k] * scale_i
        s[b] = 0.25 * dot(difference, b, difference, b)
    return count
