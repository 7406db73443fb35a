"""Four-point deltas of a connected graph: of random quadruples, and the largest one of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hgcn.compiled import compiled
from hgcn.data.gromov.distances import Hops, Ints, hop_distances
from hgcn.packages import require

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 2**17
"""Quadruples at a time: memory does not grow with their number."""


class Sample(NamedTuple):
    """Random quadruples: how many have each value of twice delta, and one with the largest."""

    counts: Ints
    quadruple: Ints
    average_distance: float


def sample_deltas(hops: Hops, count: int, generator: np.random.Generator) -> Sample:
    """Deltas of random quadruples of different nodes, given all distances among the nodes."""
    counts = np.zeros(int(hops.max()) + 1, np.int64)
    quadruple = np.zeros(4, np.int64)
    best, distances, left = -1, 0, count
    while left > 0:
        nodes = generator.integers(len(hops), size=(min(2 * left, CHUNK), 4))
        ordered = np.sort(nodes, axis=1)
        nodes = nodes[(np.diff(ordered, axis=1) > 0).all(axis=1)][:left]
        left -= len(nodes)
        a, b, c, d = nodes.T
        sums = np.stack(
            [
                hops[one].astype(np.int64) + hops[two]
                for one, two in (((a, b), (c, d)), ((a, c), (b, d)), ((a, d), (b, c)))
            ]
        )
        distances += int(sums.sum())
        sums.sort(axis=0)
        twice = sums[2] - sums[1]
        counts += np.bincount(twice, minlength=len(counts))
        if len(twice) and twice.max() > best:
            best = int(twice.max())
            quadruple = nodes[np.argmax(twice)]
    return Sample(counts, quadruple, distances / (6 * count) if count else 0.0)


def blocks_of(matrix: csr_array) -> list[Ints]:
    """The blocks of a graph, largest first: subgraphs that stay connected without any one node.

    The delta of a graph is the largest one of its blocks.
    """
    networkx = require("networkx", "hyperbolicity")
    rows, columns = matrix.nonzero()
    graph = networkx.Graph()
    graph.add_edges_from(zip(rows.tolist(), columns.tolist(), strict=True))
    found = (np.array(sorted(block)) for block in networkx.biconnected_components(graph))
    return sorted(found, key=len, reverse=True)


def exact_delta(
    matrix: csr_array, blocks: Sequence[Ints], best: int, quadruple: Ints
) -> tuple[int, Ints]:
    """Twice the largest delta of all, and four nodes that have it.

    Args:
        matrix: the graph.
        blocks: its blocks, largest first.
        best, quadruple: four nodes to start from, and twice their delta.
    """
    for block in blocks:
        if len(block) < 4:
            break
        inside = matrix[block][:, block]
        start, other = inside.indptr.astype(np.int64), inside.indices.astype(np.int64)
        hops, farthest = hop_distances(start, other, np.arange(len(block)))
        if farthest.max() > best:
            found, nodes = largest_delta(hops, start, other, best)
            if found > best:
                best, quadruple = found, block[nodes]
    return best, quadruple


@compiled(inside=True)
def is_far_apart(hops: Hops, start: Ints, other: Ints, x: int, y: int) -> bool:
    """Whether no neighbour of x is farther from y, and no neighbour of y farther from x.

    Only such pairs can have the largest of the three sums in a quadruple with the largest delta
    (Cohen, Coudert, Lancin 2015).
    """
    distance = hops[x, y]
    for e in range(start[x], start[x + 1]):
        if hops[y, other[e]] > distance:
            return False
    for e in range(start[y], start[y + 1]):  # noqa: SIM110, Numba compiles no generator
        if hops[x, other[e]] > distance:
            return False
    return True


@compiled()
def largest_delta(  # noqa: PLR0912
    hops: Hops, start: Ints, other: Ints, best: int
) -> tuple[int, Ints]:
    """Twice the largest delta, and four nodes that have it, if it is above ``best``.

    The algorithm of Borassi, Coudert, Crescenzi and Marino (2015).

    Pairs (x, y) are taken in the order of decreasing distance, and joined with each pair (v, w)
    taken before. Twice the delta of the four, D = S1 - max(S2, S3) with S1 = d(x,y) + d(v,w), is
    at most d(x,y): the search ends where that is no longer above the best found. For the same
    reason these bounds leave out most v, and most pairs:

    - D <= d(x,y) - |d(x,v) - d(y,v)|
    - 2D <= d(x,y) + 2 ecc(v) - d(x,v) - d(y,v)
    - 2D <= f(v) + f(w) with f(v) = d(x,y) + 2 d(v,c) - d(x,v) - d(y,v), for any node c: so one
      of v and w has f above the best
    """
    n = hops.shape[0]
    farthest = np.empty(n, np.int64)
    total = np.empty(n, np.int64)
    capacity = np.zeros(n + 1, np.int64)
    for x in range(n):
        total[x] = 0
        farthest[x] = 0
        for y in range(n):
            total[x] += hops[x, y]
            farthest[x] = max(farthest[x], hops[x, y])
            if hops[x, y] > best and is_far_apart(hops, start, other, x, y):
                capacity[x + 1] += 1
    mate_start = np.cumsum(capacity)
    mates = np.empty(mate_start[n], np.int32)
    mate_count = np.zeros(n, np.int64)
    to_centre = hops[np.argmin(total)].astype(np.int64)

    quadruple = np.zeros(4, np.int64)
    accepted = np.zeros(n, np.bool_)
    valuable = np.empty(n, np.int64)
    for distance in range(farthest.max(), 0, -1):
        for x in range(n):
            for y in range(x + 1, n):
                if distance <= best:
                    return best, quadruple
                if hops[x, y] != distance or not is_far_apart(hops, start, other, x, y):
                    continue
                count = 0
                for v in range(n):
                    accepted[v] = False
                    if mate_count[v] > 0:
                        a, b = np.int64(hops[x, v]), np.int64(hops[y, v])
                        room = distance - a - b
                        if distance - abs(a - b) > best and room + 2 * farthest[v] > 2 * best:
                            accepted[v] = True
                            if room + 2 * to_centre[v] > best:
                                valuable[count] = v
                                count += 1
                for at in range(count):
                    v = valuable[at]
                    a, b = np.int64(hops[x, v]), np.int64(hops[y, v])
                    for m in range(mate_start[v], mate_start[v] + mate_count[v]):
                        w = mates[m]
                        apart = np.int64(hops[v, w])
                        # The second bound again; mates come in the order of decreasing distance.
                        if distance - a - b + 2 * apart <= 2 * best:
                            break
                        if accepted[w]:
                            second, third = a + np.int64(hops[y, w]), b + np.int64(hops[x, w])
                            twice = distance + apart - max(second, third)
                            if twice > best:
                                best = int(twice)
                                quadruple = np.array((x, y, v, w), np.int64)
                mates[mate_start[x] + mate_count[x]] = y
                mates[mate_start[y] + mate_count[y]] = x
                mate_count[x] += 1
                mate_count[y] += 1
    return best, quadruple
