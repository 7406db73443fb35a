r"""The compiled search for the k nearest of many points.

The height H of a pair is at most L only if
:math:`u_i \cdot u_j \ge |u_i|^2/2 + |u_j|^2/2 - 2 L / (\sinh\rho_i \sinh\rho_j)`. Products in
single precision, of one point with a leaf at a time, leave few pairs whose H is to be computed.
What rounding may change is allowed for. Leaves that are too far away are passed over.
"""

from __future__ import annotations

import math

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints
from hgcn.nearest.heights import PointForm, height
from hgcn.nearest.leaves import Leaves, Singles

QUERIES = 32
"""Points whose nearest are searched together, so that a leaf is read from memory once for all."""

Nearest = tuple[Doubles, Ints]
"""Heights ``[m, k]`` and numbers of the points found; a heap for each query, the last on top."""


@compiled(inside=True)
def _after(height: float, node: int, other: float, than: int) -> bool:
    """Whether a point comes later than another one; equal heights are ordered by number."""
    return height > other or (height == other and node > than)


@compiled(inside=True)
def put(height: float, node: int, heights: Doubles, nodes: Ints) -> None:
    """Put a point that comes before the last one of a full heap into it, in its place."""
    slot, size = 0, len(heights)
    while True:
        child = 2 * slot + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _after(heights[right], nodes[right], heights[child], nodes[child]):
            child = right
        if not _after(heights[child], nodes[child], height, node):
            break
        heights[slot], nodes[slot] = heights[child], nodes[child]
        slot = child
    heights[slot] = height
    nodes[slot] = node


@compiled(error_model="numpy")
def products(x: Singles, columns: Singles, out: Singles) -> None:
    """The products of a vector with all columns; eight rows at a time, to write seldom."""
    width, dimensions = columns.shape[1], len(x)
    out[:] = 0.0
    d = 0
    while d + 8 <= dimensions:
        x0, x1, x2, x3 = x[d], x[d + 1], x[d + 2], x[d + 3]
        x4, x5, x6, x7 = x[d + 4], x[d + 5], x[d + 6], x[d + 7]
        c0, c1, c2, c3 = columns[d], columns[d + 1], columns[d + 2], columns[d + 3]
        c4, c5, c6, c7 = columns[d + 4], columns[d + 5], columns[d + 6], columns[d + 7]
        for m in range(width):
            low = x0 * c0[m] + x1 * c1[m] + x2 * c2[m] + x3 * c3[m]
            out[m] += low + (x4 * c4[m] + x5 * c5[m] + x6 * c6[m] + x7 * c7[m])
        d += 8
    while d < dimensions:
        x0, c0 = x[d], columns[d]
        for m in range(width):
            out[m] += x0 * c0[m]
        d += 1


@compiled(error_model="numpy")
def _passing(
    score: Singles, inverse: Singles, half: Singles, reach: np.float32, least: np.float32
) -> int:
    """How many points of a leaf may be near enough."""
    passing = 0
    for m in range(len(score)):
        # Numbers that cannot be compared, as those of points very far out, pass.
        passing += not (score[m] + reach * inverse[m] - half[m] < least)
    return passing


@compiled(inside=True, error_model="numpy")
def _scan(
    query: PointForm, q: int, own: int, leaf: int, leaves: Leaves, room: tuple[Singles, Singles],
    heap: Nearest,
) -> None:  # fmt: skip
    """Put the points of a leaf that are near enough into the heap of a query."""
    x, score = room
    heights, nodes = heap
    low, size = leaves.begin[leaf], leaves.begin[leaf + 1] - leaves.begin[leaf]
    square = 0.0
    for d in range(len(x)):
        square += query[0][q, d] * query[0][q, d]
    slack = (len(x) + 16) * 2.0**-23 * max(square, leaves.square)
    products(x, leaves.columns[leaf], score)
    half, inverse = leaves.half[leaf], leaves.inverse[leaf]
    reach = np.float32(2.0 * heights[0] / max(query[1][q, 1], 1e-37))
    least = np.float32(0.5 * square - slack)
    if not _passing(score, inverse, half, reach, least):
        return
    for m in range(size):
        if score[m] + reach * inverse[m] - half[m] < least:
            continue
        h = height(query, q, leaves.points, low + m, heights[0])
        node = leaves.node[low + m]
        if node != own and _after(heights[0], nodes[0], h, node):
            put(h, node, heights, nodes)
            reach = np.float32(2.0 * heights[0] / max(query[1][q, 1], 1e-37))


@compiled(nogil=True, error_model="numpy")
def search(
    first: int, last: int, query: PointForm, own: Ints, leaves: Leaves, found: Nearest
) -> None:
    """Find the nearest points of some blocks of queries.

    Args:
        first, last: the blocks.
        query: the points whose nearest are asked for.
        own: the number of each of them among the points, which is left out; -1 if it is none.
        leaves: the points.
        found: heaps of infinite heights, to be filled.
    """
    count, total = len(leaves.begin) - 1, len(own)
    between = np.empty((QUERIES, count))
    bound, order = np.empty(count), np.empty(count, np.int64)
    x = np.empty((QUERIES, query[0].shape[1]), np.float32)
    score = np.empty(leaves.columns.shape[2], np.float32)
    for block in range(first, last):
        begin, end = block * QUERIES, min(total, (block + 1) * QUERIES)
        bound[:] = np.inf
        for q in range(begin, end):
            row, least = between[q - begin], np.inf
            nearest = 0
            for d in range(x.shape[1]):
                x[q - begin, d] = query[0][q, d]
            for leaf in range(count):
                row[leaf] = height(query, q, leaves.centres, leaf, np.inf)
                near = _nearness(row[leaf], leaves.far[leaf], leaves.curved)
                bound[leaf] = min(bound[leaf], near)
                if near < least:
                    nearest, least = leaf, near
            room, heap = (x[q - begin], score), (found[0][q], found[1][q])
            _scan(query, q, own[q], nearest, leaves, room, heap)
            row[nearest] = -1.0
        order[:] = np.argsort(bound)
        for place in range(count):
            leaf = int(order[place])
            sinh, cosh = leaves.far[leaf]
            for q in range(begin, end):
                h = between[q - begin, leaf]
                limit = found[0][q, 0]
                # sinh((D + R)/2), D being the distance to the last of the nearest so far.
                far = (
                    math.sqrt(limit) * cosh
                    + (math.sqrt(1.0 + limit) if leaves.curved else 1.0) * sinh
                )
                if h >= 0.0 and not h > far * far * (1.0 + 1e-9):
                    room, heap = (x[q - begin], score), (found[0][q], found[1][q])
                    _scan(query, q, own[q], leaf, leaves, room, heap)


@compiled(inside=True)
def _nearness(h: float, far: Doubles, curved: bool) -> float:
    """A number that grows with the distance of a leaf: by it, near leaves come first."""
    if not curved:
        return math.sqrt(h) - far[0]
    # exp(D - R), but for a factor, for all that is not very near.
    return (h + 0.25) / (far[0] + far[1]) ** 2
