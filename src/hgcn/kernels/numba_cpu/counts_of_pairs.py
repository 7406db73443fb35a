"""Counts of what two nodes have in common: shared neighbours, short paths, their distance.

The edge between the two nodes themselves is left out. Work on a pair is bounded: where two nodes
have more than ``MOST_SHARED`` neighbours or ``MOST_PATHS`` ways of two steps, an even sample of
them is looked at, which starts at a place drawn for each pair, and counts are scaled up. A mean
over such draws is the exact count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.numba_cpu.tensors import array
from hgcn.kernels.rows import FARTHEST, Bytes, Doubles, Ints

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

MOST_SHARED = 2048
"""Neighbours of the node with fewer of them that are looked at one by one."""
MOST_PATHS = 2048
"""Ways of two steps, from the node with fewer neighbours, that are looked at one by one."""
MOST_REACHED = 512
"""Edges that the search for the distance of two nodes may look at."""
SEARCH = 8
"""Neighbours that are marked in the time of one search among them."""


Visible = tuple[Ints, Ints, Doubles, Doubles, Bytes]
"""Start, neighbours, weights, for each node the sum of its weights, and directions of the edges."""
Marks = tuple[Ints, Ints, Doubles]
"""For each node the last pair whose second node it is a neighbour of, where, and 1/sqrt(degree)."""
ALONG, AGAINST = 1, 2
"""Directions of an edge in the row of a node: to its neighbour, from its neighbour; 3 is both."""


@compiled(inside=True)
def _draw(i: int, j: int) -> float:
    """A number in 0..1 that looks random and depends on an unordered pair alone."""
    low, high = np.uint64(min(i, j)), np.uint64(max(i, j))
    x = low * np.uint64(0x9E3779B97F4A7C15) + high
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float(x >> np.uint64(11)) * 2.0**-53


@compiled(inside=True)
def find(other: Ints, low: int, high: int, v: int) -> int:
    """The position of v among the sorted neighbours other[low:high], -1 if it is not there."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if other[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low if low < end and other[low] == v else -1


@compiled(inside=True)
def _place(v: int, j: int, start: Ints, other: Ints, marks: Marks, stamp: int, marked: bool) -> int:
    """The position of v among the neighbours of j, -1 if it is none."""
    if marked:
        return marks[1][v] if marks[0][v] == stamp else -1
    return find(other, start[j], start[j + 1], v)


@compiled(inside=True, error_model="numpy")
def _shared(
    i: int, j: int, graph: Visible, marks: Marks, stamp: int, marked: bool, row: Doubles
) -> None:
    """Common neighbours, Adamic-Adar and resource allocation, into the first columns of a row.

    The last four have the common neighbours by the directions of the two edges.
    """
    start, other, weight, strength, direction = graph
    degree = start[i + 1] - start[i]
    stride = max(1.0, degree / MOST_SHARED)
    at = _draw(i, j) * stride if stride > 1 else 0.0
    common = amount = resources = through = back = met = split = 0.0
    while at < degree:
        e = start[i] + int(at)
        at += stride
        u = other[e]
        if u in (i, j):
            continue
        place = _place(u, j, start, other, marks, stamp, marked)
        if place >= 0:
            common += 1.0
            amount += 1.0 / math.log(max(2.0, float(start[u + 1] - start[u])))
            resources += (weight[e] + weight[place]) / (2.0 * strength[u])
            one, two = direction[e], direction[place]
            through += (one & ALONG) * (two >> 1)
            back += (one >> 1) * (two & ALONG)
            met += one & two & ALONG
            split += (one & two) >> 1
    row[0], row[1], row[2] = stride * common, stride * amount, stride * resources
    row[6], row[7], row[8], row[9] = stride * through, stride * back, stride * met, stride * split


@compiled(inside=True, error_model="numpy")
def _ways(i: int, j: int, start: Ints, other: Ints) -> tuple[float, float, int]:
    """Every how many neighbours of i are taken, from where on, and their ways of one more step."""
    degree = start[i + 1] - start[i]
    thin = max(1.0, degree / MOST_SHARED)
    first = _draw(j, i) * thin if thin > 1 else 0.0
    total = 0
    at = first
    while at < degree:
        u = other[start[i] + int(at)]
        total += start[u + 1] - start[u]
        at += thin
    return thin, first, total


@compiled(inside=True, error_model="numpy")
def _paths(
    i: int,
    j: int,
    graph: Visible,
    marks: Marks,
    stamp: int,
    marked: bool,
    ways: tuple[float, float, int],
    row: Doubles,
) -> None:
    """Paths of three edges, plain and divided by the roots of the degrees on their way.

    Neither j nor a node itself is among the neighbours that are compared, for there are no loops.
    """
    start, other = graph[0], graph[1]
    mark, _, root = marks
    degree = start[i + 1] - start[i]
    thin, at, total = ways
    stride = max(1.0, total / MOST_PATHS)
    offset = _draw(i + 1, j + 1) * stride if stride > 1 else 0.0
    paths = normalised = 0.0
    while at < degree:
        u = other[start[i] + int(at)]
        at += thin
        width = start[u + 1] - start[u]
        if u in (i, j):
            offset = offset + stride * math.ceil(max(0.0, width - offset) / stride) - width
            continue
        found = roots = 0.0
        if marked and stride == 1.0:
            for e in range(start[u], start[u + 1]):
                hit = mark[other[e]] == stamp
                found += 1.0 if hit else 0.0
                roots += root[other[e]] if hit else 0.0
        elif marked:
            while offset < width:
                v = other[start[u] + int(offset)]
                offset += stride
                hit = mark[v] == stamp
                found += 1.0 if hit else 0.0
                roots += root[v] if hit else 0.0
            offset -= width
        else:
            while offset < width:
                v = other[start[u] + int(offset)]
                offset += stride
                if v != i and find(other, start[j], start[j + 1], v) >= 0:
                    found += 1.0
                    roots += 1.0 / math.sqrt(float(start[v + 1] - start[v]))
            offset -= width
        paths += found
        normalised += roots / math.sqrt(float(width))
    scale = thin * stride
    row[3], row[4] = scale * paths, scale * normalised


@compiled(inside=True)
def _edges_of(start: Ints, queue: Ints, low: int, high: int) -> int:
    total = 0
    for at in range(low, high):
        total += start[queue[at] + 1] - start[queue[at]]
    return total


@compiled(inside=True)
def _distance(
    i: int, j: int, start: Ints, other: Ints, seen: tuple[Ints, Ints], stamp: int,
    queues: tuple[Ints, Ints],
) -> int:  # fmt: skip
    """The length of the shortest path, searched from both ends; 0 if none is found."""
    ends = (i, j)
    low = np.zeros(2, np.int64)
    high = np.ones(2, np.int64)
    seen[0][i] = seen[1][j] = stamp
    queues[0][0], queues[1][0] = i, j
    looked = length = 0
    while length < FARTHEST:
        cost = (
            _edges_of(start, queues[0], low[0], high[0]),
            _edges_of(start, queues[1], low[1], high[1]),
        )
        side = 0 if cost[0] <= cost[1] else 1
        looked += cost[side]
        if cost[side] == 0 or looked > MOST_REACHED:
            return 0
        length += 1
        end = high[side]
        for at in range(low[side], end):
            u = queues[side][at]
            for e in range(start[u], start[u + 1]):
                v = other[e]
                if u == ends[side] and v == ends[1 - side]:
                    continue  # the edge between the two themselves
                if seen[1 - side][v] == stamp:
                    return length
                if seen[side][v] != stamp:
                    seen[side][v] = stamp
                    queues[side][high[side]] = v
                    high[side] += 1
        low[side] = end
    return 0


Scratch = tuple[Ints, Ints, Doubles, Ints, Ints, Ints, Ints]
"""Marks, nodes seen from either end, and the two queues, of one thread."""


@compiled()
def scratch_of(n: int) -> Scratch:
    """What :func:`count_pair` writes to, for a graph of n nodes."""
    queue = MOST_REACHED + 1
    return (
        np.full(n, -1), np.empty(n, np.int64), np.zeros(n), np.full(n, -1), np.full(n, -1),
        np.empty(queue, np.int64), np.empty(queue, np.int64),
    )  # fmt: skip


@compiled(inside=True, error_model="numpy")
def count_pair(
    i: int, j: int, graph: Visible, scratch: Scratch, stamp: int,
    row: Doubles,
) -> None:  # fmt: skip
    """Counts of one pair, into a row of zeros; the stamp must be new to the scratch."""
    start, other = graph[0], graph[1]
    marks = mark, slot, root = scratch[0], scratch[1], scratch[2]
    swapped = start[i + 1] - start[i] > start[j + 1] - start[j]
    if swapped:
        i, j = j, i
    ways = _ways(i, j, start, other)
    looks = min(start[i + 1] - start[i], MOST_SHARED) + min(ways[2], MOST_PATHS)
    marked = start[j + 1] - start[j] <= SEARCH * looks
    if marked:
        for e in range(start[j], start[j + 1]):
            v = other[e]
            if v != i:
                mark[v], slot[v] = stamp, e
                root[v] = 1.0 / math.sqrt(float(start[v + 1] - start[v]))
    _shared(i, j, graph, marks, stamp, marked, row)
    if swapped:
        row[6], row[7] = row[7], row[6]
    _paths(i, j, graph, marks, stamp, marked, ways, row)
    if row[0] > 0:
        row[5] = 2.0
    elif row[3] > 0:
        row[5] = 3.0
    else:
        seen, queues = (scratch[3], scratch[4]), (scratch[5], scratch[6])
        row[5] = _distance(i, j, start, other, seen, stamp, queues)


@compiled(error_model="numpy", nogil=True)
def count_pairs(
    first_chunk: int, last_chunk: int, pairs: Ints, graph: Visible, bounds: Ints, out: Doubles
) -> None:
    """Counts of each pair, into the columns of ``COLUMNS``.

    Args:
        pairs: nodes, ``[2, M]``.
        graph: the visible edges, each in the rows of both its nodes; neighbours are sorted.
        bounds: positions that divide the pairs into chunks.
        out: ``[M, 10]``, zeros.
    """
    for chunk in range(first_chunk, last_chunk):
        scratch = scratch_of(graph[0].shape[0] - 1)
        for m in range(bounds[chunk], bounds[chunk + 1]):
            count_pair(pairs[0, m], pairs[1, m], graph, scratch, m, out[m])


def counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Tensor:
    """The counts of pairs ``[2, M]`` as a tensor ``[M, 10]`` of float64."""
    out = torch.zeros(pairs.shape[1], 10, dtype=torch.float64)
    chunks = min(16, 1 + pairs.shape[1] // 1024)
    bounds = np.linspace(0, pairs.shape[1], chunks + 1).astype(np.int64)
    in_chunks(
        count_pairs, chunks, array(pairs), visible(weight, direction, graph), bounds, out.numpy()
    )
    return out


def visible(weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Visible:
    """The edges in the form that :func:`count_pair` takes."""
    total = np.bincount(graph.target.numpy(), array(weight), graph.num_targets)
    strength: Doubles = np.maximum(total, np.finfo(np.float64).tiny)
    rows = graph.by_target
    return rows.start, rows.other, array(weight), strength, array(direction)
