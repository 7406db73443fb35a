"""The edges of a graph sorted into rows, one for each node, and rows divided into chunks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Bytes = NDArray[np.int8]

FARTHEST = 16
"""Distance up to which that of two nodes is searched for."""


class Rows(NamedTuple):
    """The edges of each node i, at the positions ``start[i]`` to ``start[i + 1]`` of the arrays.

    Attributes:
        start: the first position of each node, and at last the number of edges.
        other: the node at the other end of each edge.
        edge: the number of each edge in another order.
        bounds: row numbers that divide the rows into chunks of about the same work.
    """

    start: Ints
    other: Ints
    edge: Ints
    bounds: Ints


def divided_rows(start: Ints, other: Ints, edge: Ints) -> Rows:
    """Rows, divided into chunks."""
    return Rows(start, other, edge, _bounds(start, num_chunks(len(start) + int(start[-1]))))


def sorted_rows(key: Ints, other: Ints, count: int) -> Rows:
    """Edges sorted by ``key``, one of ``count`` nodes; those of a node keep their order."""
    return divided_rows(*sort_edges(key, other, count))


def num_chunks(work: int) -> int:
    """Number of chunks of rows for parallel work; it does not depend on the number of threads."""
    return min(64, 1 + work // 2048)


@compiled()
def sort_edges(key: Ints, other: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Stable counting sort of edges by key: start of each row, other ends, edge numbers."""
    start = np.zeros(count + 1, np.int64)
    for e in range(key.shape[0]):
        start[key[e] + 1] += 1
    for i in range(count):
        start[i + 1] += start[i]
    free = start[:-1].copy()  # the next free position of each row
    sorted_other = np.empty_like(other)
    edge = np.empty_like(other)
    for e in range(key.shape[0]):
        position = free[key[e]]
        free[key[e]] = position + 1
        sorted_other[position] = other[e]
        edge[position] = e
    return start, sorted_other, edge


@compiled()
def _bounds(start: Ints, count: int) -> Ints:
    """Row numbers that divide the rows into chunks; a row costs one, and so does an edge."""
    rows = start.shape[0] - 1
    total = start[rows] + rows
    bounds = np.empty(count + 1, np.int64)
    row = 0
    for chunk in range(count):
        aim = total * chunk // count
        while row < rows and start[row] + row < aim:
            row += 1
        bounds[chunk] = row
    bounds[count] = rows
    return bounds
