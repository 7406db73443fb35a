"""Draws from the rows of a graph, compiled: they run beside training, outside of Python's lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgcn.compiled import compiled
from hgcn.kernels.rows import Doubles, Ints

Words = NDArray[np.uint64]
Places = NDArray[np.int32]
How = tuple[int, bool, bool]
"""Fan-out, whether edges are drawn by weight, and whether with replacement."""

WORD = 64
"""The bits of a word."""
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
def _below(state: Words, count: int) -> Any:
    """A number in 0..count - 1; count is below 2^31."""
    return np.int64(((_next(state) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@compiled()
def _above_zero(state: Words) -> float:
    """A number above 0 and at most 1."""
    return (float(_next(state) >> np.uint64(11)) + 1.0) * 2.0**-53


@compiled()
def _distinct(state: Words, count: int, size: int, out: Ints) -> None:
    """Different numbers in 0..size - 1, each set of them as likely as any other."""
    if size <= WORD:  # Floyd's algorithm, which remembers what was drawn in the bits of a word
        taken = np.uint64(0)
        for k in range(count):
            top = size - count + k
            drawn = _below(state, top + 1)
            bit = np.uint64(1) << np.uint64(drawn)
            if taken & bit:
                drawn, bit = top, np.uint64(1) << np.uint64(top)
            taken |= bit
            out[k] = drawn
        return
    if count * count <= SEARCHED * size:  # the same, in what was written
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


@compiled(error_model="numpy")
def _draw_row(
    state: Words, weight: Doubles, size: int, how: How, out: Ints, stands: Doubles
) -> int:
    """Draw from the edges 0..size - 1 of a row, and count what was drawn.

    Args:
        state: of the random numbers.
        weight: of the edges; empty if they are drawn evenly.
        size: how many edges there are.
        how: fan-out, whether by weight, whether with replacement.
        out, stands: the edges drawn, and for how many each of them stands.
    """
    fanout, by_weight, replace = how
    if fanout < 0 or size == 0 or (size <= fanout and not replace):
        for k in range(size):
            out[k], stands[k] = k, 1.0
        return size
    if by_weight:
        return _by_weight(state, weight, fanout, replace, out, stands)
    if replace:
        for k in range(fanout):
            out[k] = _below(state, size)
    else:
        _distinct(state, fanout, size, out)
    stands[:fanout] = size / fanout
    return fanout


@compiled()
def _bounds(start: Ints, nodes: Ints, how: How) -> tuple[int, int]:
    """At most how many edges are drawn for these nodes, and the length of their longest row."""
    fanout, _, replace = how
    most, longest = 0, 0
    for v in nodes:
        size = start[v + 1] - start[v]
        longest = max(longest, size)
        if fanout >= 0 and size > 0:
            size = fanout if replace else min(fanout, size)
        most += size
    return most, longest


@compiled(nogil=True, error_model="numpy")
def draw_edges(
    rows: tuple[Ints, Ints, Doubles],
    nodes: Ints,
    first: int,
    how: How,
    hidden: Ints,
    seed: np.uint64,
) -> tuple[Ints, Ints, Doubles]:
    """Draw edges that end at the last nodes of a list.

    What is drawn for a node depends on the seed and the node alone, not on the other nodes: a share
    of a batch has the draws of the whole.

    Args:
        rows: start of each row, sources, and weights, empty if edges have none.
        nodes: the nodes so far.
        first: the edges are those into ``nodes[first:]``.
        how: edges for each node, -1 for all; whether by weight; whether with replacement.
        hidden: sorted keys ``target * n + source`` of edges that are not there.
        seed: of the random numbers.

    Returns:
        Of each edge its position in the rows, its target as position in the list of nodes, and for
        how many edges it stands.
    """
    start, source, weight = rows
    most, longest = _bounds(start, nodes[first:], how)
    position, target = np.empty(most, np.int64), np.empty(most, np.int64)
    stands = np.empty(most)
    left = np.empty(longest if len(hidden) else 0, np.int64)
    heavy = np.empty(longest if how[1] else 0)
    n, at = len(start) - 1, 0
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
        if how[1]:
            for k in range(size):
                heavy[k] = weight[left[k] if some else low + k]
        count = _draw_row(state, heavy[:size], size, how, position[at:], stands[at:])
        for k in range(at, at + count):
            position[k] = left[position[k]] if some else low + position[k]
            target[k] = i
        at += count
    return position[:at], target[:at], stands[:at]


@compiled()
def _is_there(there: Words, v: int) -> Any:
    """Whether the bit of a node is set."""
    return (there[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != 0


@compiled()
def _put(there: Words, v: int) -> None:
    """Set the bit of a node."""
    there[v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@compiled(nogil=True)
def add_sources(
    source: Ints, position: Ints, nodes: Ints, there: Words, place: Places, out: Ints
) -> Ints:
    """Add the nodes that edges come from to a list of nodes.

    Most of them are new. A bit says so, and bits stay in the cache where places do not: these are
    written in any case, for which nothing waits, and read only if the node is there.

    Args:
        source: the sources of all edges.
        position: of some edges among them.
        nodes: the nodes so far.
        there: a bit for each node, whether it is in the list.
        place: the position in the list of each node that is there.
        out: receives the sources of the edges as positions in the list.

    Returns:
        The nodes.
    """
    # A loop of its own, so that the processor waits for many entries of the graph at once.
    for k in range(len(position)):
        out[k] = source[position[k]]
    found = len(nodes)
    known = np.empty(found + len(position), np.int64)
    known[:found] = nodes
    for k in range(len(position)):
        u = out[k]
        if _is_there(there, u):
            out[k] = place[u]
        else:
            _put(there, u)
            place[u] = found
            known[found] = u
            out[k] = found
            found += 1
    return known[:found]


@compiled(nogil=True)
def leave_places(nodes: Ints, there: Words) -> None:
    """Clear the bits of these nodes, if only they are set."""
    for i in range(len(nodes)):
        there[nodes[i] >> 6] = np.uint64(0)


@compiled(nogil=True)
def take_places(nodes: Ints, there: Words, place: Places) -> Any:
    """Write the position of each node; the first position of a node that is there twice, else -1.

    Nothing is written if there is one.
    """
    for i in range(len(nodes)):
        v = nodes[i]
        if _is_there(there, v):
            again = np.int64(place[v])
            leave_places(nodes[:i], there)
            return again
        _put(there, v)
        place[v] = i
    return -1
