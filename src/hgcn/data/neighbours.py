"""The edges of a graph by node, as two plain arrays (CSR)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hgcn.data.pairs import Ints

MOST_SHORT = 2**31 - 1
"""The largest number that fits in int32."""


class Neighbours(NamedTuple):
    """The edges of each node i, at the positions ``start[i]`` to ``start[i + 1]``.

    Attributes:
        start: the first position of each node, and at last the number of edges.
        node: the node at the other end of each edge; those of a node rise.
        edge: the column of each edge in ``edge_index``; None where the edge at position p is
            column p or, in an undirected graph, has the weight of column p.

    All are int32 where that is enough.
    """

    start: NDArray[Any]
    node: NDArray[Any]
    edge: NDArray[Any] | None


def short(largest: int) -> type[np.int32] | type[np.int64]:
    """The type of indices up to a number: int32 where they fit."""
    return np.int32 if largest <= MOST_SHORT else np.int64


def neighbours(key: Ints, other: Ints, num_nodes: int) -> Neighbours:
    """The edges by one of their ends, ``key``."""
    start = np.zeros(num_nodes + 1, short(len(key)))
    np.cumsum(np.bincount(key, minlength=num_nodes), out=start[1:])
    node_type = short(num_nodes)
    falls = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & (other[1:] < other[:-1]))
    if not falls.any():
        return Neighbours(start, other.astype(node_type), None)
    order = np.lexsort((other, key))
    return Neighbours(start, other[order].astype(node_type), order.astype(short(len(key))))
