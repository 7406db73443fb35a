"""Draws from the rows of a graph, compiled: they run beside training, outside of Python's lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints

Words = NDArray[np.uint64]
Places = NDArray[np.int32]

SEARCHED = 8
"""Draws of k out of d are compared one by one while k * k is at most so many times d."""


@compiled()
def _next(state: Words) -> np.uint64:
    """The next number of splitmix64 (Steele, Lea and Flood 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled()
def _below(state: Words, count: int) -> int:
    """A number in 0..count - 1; count is below 2^31."""
    return np.int64(((_next(state) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@compiled()
def _above_zero(state: Words) -> float:
    """A number above 0 and at most 1."""
    return (float(_next(state) >> np.uint64(11)) + 1.0) * 2.0**-53


@compiled()
def _distinct(state: Words, count: int, size: int, out: Ints) -> None:
    """Different numbers in 0..size - 1, each set of them as likely as any other."""
    if count * count <= SEARCHED * size:  # Floyd's algorithm
        for k in range(count):
            top = size - count + k
            drawn = _below(state, top + 1)
            for earlier in range(k):
                if out[earlier] == drawn:
                    drawn = top
                    break
            out[k] = drawn
        return
    k = 0
    for number in range(size):  # each is taken with the share that is still wanted
        if k < count and _below(state, size - number) < count - k:
            out[k] = number
            k += 1


@compiled(error_model="numpy")
def _by_weight(
    state: Words, weight: Doubles, count: int, replace: bool, out: Ints, stands: Doubles
) -> int:
    """Positions drawn by weight, and by how much the weight of each is to be multiplied.

    With replacement each draw stands for an equal share of the total weight. Without, it is
    priority sampling (Duffield, Lund and Thorup 2007): the priority of an edge is its weight over
    a number drawn from 0..1, those of highest priority are taken, and an edge stands for the
    priority of the first that was not, if that is more than its weight. In both cases the expected
    weight of each edge is its own.

    Returns:
        How many were drawn: never one of weight zero.
    """
    positive = 0
    total = 0.0
    for e in range(len(weight)):
        positive += weight[e] > 0
        total += weight[e]
    if replace and positive:
        sums = np.cumsum(weight)
        for k in range(count):
            at = np.searchsorted(sums, _above_zero(state) * sums[-1])
            while at >= len(weight) or weight[at] == 0:  # rounding may lead past the last one
                at -= 1
            out[k] = at
            stands[k] = total / (count * weight[at])
        return count
    found = 0
    if positive <= count:
        for e in range(len(weight)):
            if weight[e] > 0:
                out[found], stands[found] = e, 1.0
                found += 1
        return found
    first = np.empty(count + 1)  # the lowest inverse priorities in order, and the next one
    which = np.empty(count + 1, np.int64)
    for e in range(len(weight)):
        if weight[e] == 0:
            continue
        key = _above_zero(state) / weight[e]
        if found > count and key >= first[count]:
            continue
        at = min(found, count)
        while at > 0 and first[at - 1] > key:
            first[at], which[at] = first[at - 1], which[at - 1]
            at -= 1
        first[at], which[at] = key, e
        found = min(found + 1, count + 1)
    for k in range(count):
        out[k] = which[k]
        stands[k] = max(1.0, 1.0 / (first[count] * weight[which[k]]))
    return count


@compiled()
def _visible(low: int, high: int, source: Ints, first: int, hidden: Ints, out: Ints) -> int:
    """Write the positions of a row whose edges are not hidden, and count them.

    Args:
        low, high: the positions of the row.
        source: where each edge comes from.
        first: the key of the first pair that the row may have.
        hidden: keys of hidden pairs, sorted.
        out: the positions.
    """
    count = 0
    for e in range(low, high):
        key = first + source[e]
        at = np.searchsorted(hidden, key)
        if at == len(hidden) or hidden[at] != key:
            out[count] = e
            count += 1
    return count


@compiled(nogil=True, error_model="numpy")
def draw_hop(
    start: Ints, source: Ints, weight: Doubles, nodes: Ints, first: int, fanout: int,
    by_weight: bool, replace: bool, hidden: Ints, seed: np.uint64, place: Places,
) -> tuple[Ints, Ints, Ints, Ints, Doubles]:  # fmt: skip
    """Draw edges into the last nodes of a list, and add the nodes that they come from to it.

    What is drawn for a node depends on the seed and the node alone, not on the other nodes: a share
    of a batch has the draws of the whole.

    Args:
        start, source: the rows.
        weight: of each edge; empty if they have none.
        nodes: the nodes so far.
        first: the edges are those into ``nodes[first:]``.
        fanout: edges for each node; -1 for all.
        by_weight: draw edges by weight rather than evenly.
        replace: draw with replacement.
        hidden: sorted keys ``target * n + source`` of edges that are not there.
        seed: of the random numbers.
        place: the position of each node in the list, -1 for the others.

    Returns:
        The nodes; of each edge its position in the rows, its source and its target as positions in
        the list of nodes, and for how many edges it stands.
    """
    most, longest = 0, 0
    for i in range(first, len(nodes)):
        size = start[nodes[i] + 1] - start[nodes[i]]
        longest = max(longest, size)
        if fanout >= 0 and size > 0:
            size = fanout if replace else min(fanout, size)
        most += size
    position = np.empty(most, np.int64)
    target = np.empty(most, np.int64)
    stands = np.empty(most)
    left = np.empty(longest if len(hidden) else 0, np.int64)
    heavy = np.empty(longest if by_weight else 0)
    n = len(start) - 1
    at = 0
    state = np.empty(1, np.uint64)
    for i in range(first, len(nodes)):
        v = nodes[i]
        state[0] = seed ^ np.uint64(v)
        state[0] = _next(state)  # neighbouring numbers give streams that have nothing in common
        low, size = start[v], start[v + 1] - start[v]
        some = False  # whether edges of the row are hidden
        if len(hidden):
            begin = np.searchsorted(hidden, v * n)
            some = begin < len(hidden) and hidden[begin] < (v + 1) * n
        if some:
            size = _visible(low, low + size, source, v * n, hidden, left)
        count, factor, weighed = min(fanout, size), 1.0, False
        if fanout < 0 or (size <= fanout and not replace) or size == 0:
            count = size
            for k in range(count):
                position[at + k] = k
        elif by_weight:
            weighed = True
            for k in range(size):
                heavy[k] = weight[left[k] if some else low + k]
            count = _by_weight(
                state, heavy[:size], fanout, replace, position[at:], stands[at : at + fanout]
            )
        elif replace:
            count = fanout
            for k in range(count):
                position[at + k] = _below(state, size)
            factor = size / count
        else:
            _distinct(state, count, size, position[at : at + count])
            factor = size / count
        for k in range(at, at + count):
            position[k] = left[position[k]] if some else low + position[k]
            target[k] = i
            if not weighed:
                stands[k] = factor
        at += count
    position = position[:at]
    # Loops of their own, so that the processor waits for many entries of the graph at once.
    ends = np.empty(at, np.int64)
    for k in range(at):
        ends[k] = source[position[k]]
    found = len(nodes)
    known = np.empty(found + at, np.int64)
    known[:found] = nodes
    for k in range(at):
        u = ends[k]
        if place[u] < 0:
            place[u] = found
            known[found] = u
            found += 1
        ends[k] = place[u]
    return known[:found].copy(), position, ends, target[:at], stands[:at]


@compiled(nogil=True)
def leave_places(nodes: Ints, place: Places) -> None:
    """Undo what was written for these nodes."""
    for i in range(len(nodes)):
        place[nodes[i]] = -1


@compiled(nogil=True)
def take_places(nodes: Ints, place: Places) -> int:
    """Write the position of each node; the first position of a node that is there twice, else -1.

    Nothing is written if there is one.
    """
    for i in range(len(nodes)):
        if place[nodes[i]] >= 0:
            again = np.int64(place[nodes[i]])
            leave_places(nodes[:i], place)
            return again
        place[nodes[i]] = i
    return -1
