"""The compiled search for how far each node is from the centre of its component."""

from __future__ import annotations

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints


@compiled(inside=True)
def _walk(
    first: int,
    start: Ints,
    other: Ints,
    order: Ints,
    before: Ints,
    hops: Ints,
    seen: Ints,
    walk: int,
) -> int:
    """Visit the component of a node in breadth-first order; returns the number of its nodes."""
    order[0], before[first], hops[first], seen[first] = first, first, 0, walk
    at, count = 0, 1
    while at < count:
        v = order[at]
        at += 1
        for e in range(start[v], start[v + 1]):
            u = other[e]
            if seen[u] != walk:
                order[count], before[u], hops[u], seen[u] = u, v, hops[v] + 1, walk
                count += 1
    return count


@compiled()
def hops_from_centres(start: Ints, other: Ints) -> Doubles:
    """Hops from the centre of each component: the middle of its longest shortest path.

    Two walks look for this path, and in a tree always find it; the third one counts.
    """
    n = start.shape[0] - 1
    order, before, hops = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    seen, walk, result = np.zeros(n, np.int64), 0, np.empty(n)
    for node in range(n):
        if seen[node] == 0:
            middle = node
            for _ in range(2):
                walk += 1
                count = _walk(middle, start, other, order, before, hops, seen, walk)
                middle = order[count - 1]
            for _ in range(hops[middle] // 2):
                middle = before[middle]
            walk += 1
            count = _walk(middle, start, other, order, before, hops, seen, walk)
            for at in range(count):
                result[order[at]] = hops[order[at]]
    return result
