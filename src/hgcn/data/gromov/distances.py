"""Hop distances from many nodes at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled

Ints = NDArray[np.int64]
Hops = NDArray[np.unsignedinteger]

NOT_ASKED = np.empty((0, 0), np.uint16)


def hop_distances(start: Ints, other: Ints, nodes: Ints) -> tuple[Hops, Ints]:
    """Distances among some nodes of a connected graph, and the eccentricity of each.

    Args:
        start, other: the graph in CSR form.
        nodes: the nodes to measure among; memory is their number squared, plus a few numbers for
            each node of the graph.
    """
    count = len(start) - 1
    column = np.full(count, -1, np.int64)
    column[nodes] = np.arange(len(nodes))
    hops = np.zeros((len(nodes), len(nodes)), np.uint16 if count < 2**16 else np.uint32)
    return hops, _search(start, other, nodes, column, hops)


def eccentricities(start: Ints, other: Ints, nodes: Ints) -> Ints:
    """The largest distance from each of these nodes."""
    return _search(start, other, nodes, np.full(len(start) - 1, -1, np.int64), NOT_ASKED)


def levels(start: Ints, other: Ints, node: int) -> Ints:
    """The distance of every node from one node."""
    return _levels(start, other, node)


def diameter(start: Ints, other: Ints, most: int) -> tuple[int, bool]:
    """The largest distance in a connected graph, and whether it is certain.

    Searches from the nodes farthest from a central one (iFUB, Crescenzi et al. 2013): no pair of
    nodes within i steps of the centre is more than 2i apart. After ``most`` searches the largest
    distance found so far is returned.
    """
    # The middle of a long shortest path: there and back again.
    first = levels(start, other, int(np.argmax(np.diff(start))))
    second = levels(start, other, int(np.argmax(first)))
    third = levels(start, other, int(np.argmax(second)))
    longest = int(second.max())
    on_path = np.flatnonzero((second + third == longest) & (second == longest // 2))
    centre = levels(start, other, int(on_path[0]))
    for radius in range(int(centre.max()), 0, -1):
        fringe = np.flatnonzero(centre == radius)
        for begin in range(0, len(fringe), 64):
            if longest >= 2 * radius:
                return longest, True
            if most <= 0:
                return longest, False
            batch = fringe[begin : begin + 64]
            most -= len(batch)
            longest = max(longest, int(eccentricities(start, other, batch).max()))
    return longest, True


# Multiplied by this number, the 64 powers of two differ in their highest six bits.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
BIT_AT = np.zeros(64, np.int64)
for _bit in range(64):
    BIT_AT[(int(DE_BRUIJN) << _bit) % 2**64 >> 58] = _bit


@compiled(inside=True, forceinline=True)
def _lowest_bit(mask: np.uint64) -> int:
    lowest = mask & (~mask + np.uint64(1))
    return BIT_AT[(lowest * DE_BRUIJN) >> np.uint64(58)]


@compiled()
def _levels(start: Ints, other: Ints, node: int) -> Ints:
    hops = np.full(start.shape[0] - 1, -1, np.int64)
    queue = np.empty(start.shape[0] - 1, np.int64)
    hops[node], queue[0], count = 0, node, 1
    for at in range(hops.shape[0]):
        v = queue[at]
        for e in range(start[v], start[v + 1]):
            if hops[other[e]] < 0:
                hops[other[e]] = hops[v] + 1
                queue[count] = other[e]
                count += 1
    return hops


@compiled()
def _search(start: Ints, other: Ints, sources: Ints, column: Ints, hops: Hops) -> Ints:
    """Breadth-first searches from 64 sources at a time, one bit each.

    A node is visited once for all sources that reach it in the same step, which in a graph of
    small diameter saves most of the work (Then et al. 2014).
    """
    n = start.shape[0] - 1
    farthest = np.zeros(sources.shape[0], np.int64)
    seen = np.zeros(n, np.uint64)
    now = np.zeros(n, np.uint64)
    then = np.zeros(n, np.uint64)
    queue = np.empty(n, np.int64)
    found = np.empty(n, np.int64)
    one = np.uint64(1)
    for base in range(0, sources.shape[0], 64):
        seen[:] = 0
        batch = min(64, sources.shape[0] - base)
        count = 0
        for bit in range(batch):
            v = sources[base + bit]
            if now[v] == 0:
                queue[count] = v
                count += 1
            now[v] |= one << np.uint64(bit)
            seen[v] |= one << np.uint64(bit)
        level = 0
        while count > 0:
            level += 1
            fresh = 0
            for at in range(count):
                v = queue[at]
                mask = now[v]
                now[v] = 0
                for e in range(start[v], start[v + 1]):
                    w = other[e]
                    new = mask & ~seen[w]
                    if new != 0:
                        if then[w] == 0:
                            found[fresh] = w
                            fresh += 1
                        then[w] |= new
                        seen[w] |= new
            reached = np.uint64(0)
            for at in range(fresh):
                w = found[at]
                reached |= then[w]
                mask = then[w] if column[w] >= 0 else np.uint64(0)
                while mask != 0:
                    hops[base + _lowest_bit(mask), column[w]] = level
                    mask &= mask - one
            while reached != 0:
                farthest[base + _lowest_bit(reached)] = level
                reached &= reached - one
            now, then = then, now
            queue, found = found, queue
            count = fresh
    return farthest
