r"""The compiled search for the closest pairs of points without an edge.

A squared distance in hyperbolic space is an increasing function of
:math:`H = \sinh^2((\rho_i - \rho_j)/2) + \sinh\rho_i \sinh\rho_j |u_i - u_j|^2/4`, which
needs no exponential for a pair once each node has its own. H is called the height of a pair. A
node of flat space has the numbers ``FLAT``, with which H is the squared Euclidean distance. So one
search serves both.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.instructions import square_between

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]

FLAT = (0.0, 2.0, 1.0, 1.0)
"""The values of (rho, sinh(rho), exp(rho/2), exp(-rho/2)) that make H the flat distance."""


# No sum is reordered, so that H of (i, j) and of (j, i) is the same to the last digit.
@compiled()
def _height(point: Doubles, at: Doubles, i: int, j: int, limit: float) -> float:
    """H of two points, or a smaller number above ``limit`` where H is above it too."""
    one, two = at[i], at[j]
    sh = 0.5 * (one[2] * two[3] - two[2] * one[3])
    if one[0] + two[0] < 0.1:  # the exponentials lose digits here
        half = 0.5 * (one[0] - two[0])
        square = half * half
        sh = half * (1.0 + square / 6.0 * (1.0 + square / 20.0 * (1.0 + square / 42.0)))
    h = sh * sh
    if h > limit:
        return h
    return h + 0.25 * (one[1] * two[1]) * square_between(point, i, point, j)


@compiled()
def _linked(other: Ints, low: int, high: int, j: int) -> bool:
    """Whether j is among the sorted neighbours other[low:high]."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if other[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < end and other[low] == j


@compiled()
def _after(h: float, i: int, j: int, height: float, end: Ints) -> bool:
    """Whether a pair comes later than another one; equal distances are ordered by node."""
    if h != height:
        return h > height
    return i > end[0] or (i == end[0] and j > end[1])


@compiled()
def _put(h: float, i: int, j: int, height: Doubles, ends: Ints, size: int) -> int:
    """Put a pair into a heap with the last pair on top, which a full heap drops; its new size."""
    if size < height.shape[0]:
        slot = size
        size += 1
        while slot > 0:
            parent = (slot - 1) >> 1
            if not _after(h, i, j, height[parent], ends[parent]):
                break
            height[slot] = height[parent]
            ends[slot] = ends[parent]
            slot = parent
    else:
        slot = 0
        while True:
            child = 2 * slot + 1
            if child >= size:
                break
            right = child + 1
            if right < size and _after(
                height[right], ends[right, 0], ends[right, 1], height[child], ends[child]
            ):
                child = right
            if _after(h, i, j, height[child], ends[child]):
                break
            height[slot] = height[child]
            ends[slot] = ends[child]
            slot = child
    height[slot] = h
    ends[slot, 0] = i
    ends[slot, 1] = j
    return size


@compiled()
def _search_row(
    i: int,
    nodes: tuple[Doubles, Doubles, Ints],
    edges: tuple[Ints, Ints],
    first: int,
    heap: tuple[Doubles, Ints],
    size: int,
) -> int:
    """Put the pairs of node i with the nodes from ``first`` on into a heap; returns its size."""
    point, at, group = nodes
    start, other = edges
    height, ends = heap
    k = height.shape[0]
    worst = height[0] if size == k else np.inf
    for j in range(first, point.shape[0]):
        if group[j] != group[i] or j == i:
            continue
        h = _height(point, at, i, j, worst)
        if h > worst or (size == k and _after(h, i, j, worst, ends[0])):
            continue
        # Few pairs come as far as this, so that a search among the neighbours costs nothing.
        if not _linked(other, start[i], start[i + 1], j):
            size = _put(h, i, j, height, ends, size)
            worst = height[0] if size == k else np.inf
    return size


@compiled(parallel=True)
def search(
    nodes: tuple[Doubles, Doubles, Ints],
    edges: tuple[Ints, Ints],
    rows: tuple[int, int],
    both_ways: bool,
    per_node: bool,
    height: Doubles,
    ends: Ints,
    size: Ints,
) -> None:
    """Put the closest pairs of the nodes of some rows, with all nodes, into heaps.

    Args:
        nodes: direction, (rho, sinh(rho), exp(rho/2), exp(-rho/2)) and graph of each node.
        edges: the sorted neighbours: the first position of each node, and the neighbours.
        rows: first row, and the one after the last.
        both_ways: whether a pair is looked at from both its nodes.
        per_node: whether node i has heap i; else the rows are dealt out among all heaps.
        height: the heights in each heap, ``[heap, slot]``.
        ends: the nodes of the pairs in each heap, ``[heap, slot, 2]``.
        size: number of pairs in each heap.
    """
    low, high = rows
    workers = min(height.shape[0], high - low)
    for worker in prange(workers):
        for i in range(low + np.int64(worker), high, workers):
            own = i if per_node else np.int64(worker)
            first = 0 if both_ways else i + 1
            size[own] = _search_row(i, nodes, edges, first, (height[own], ends[own]), size[own])
