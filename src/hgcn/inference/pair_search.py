r"""The compiled search for the most probable pairs of points without an edge.

Points have the form of :mod:`hgcn.nearest.forms`, and are compared by the height H of a pair, of
which the squared distance is an increasing function.

Without a structural term the best pairs are those of the smallest height. With one, an upper bound
of the term says how high a pair may be at most to be among the best. Nodes with many neighbours
come first, as what they have raises the bar for all others. Of each node the pairs with common
neighbours are searched, and then all others, of which the bound by degrees rules out most. Of a
pair that is left, what is cheap comes first: the distance, then a bound by the paths between the
two, then the counts of the model itself, which alone decide.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hgcn.compiled import compiled
from hgcn.inference.pair_scan import (
    CHUNK,
    Found,
    Places,
    find_close,
    place_after,
    room_for_found,
)
from hgcn.inference.structural_model import Model
from hgcn.inference.structural_rows import (
    PIECES,
    Room,
    class_bound,
    pair_bound,
    term_of,
    visit,
)
from hgcn.kernels.numba_cpu.counts_of_pairs import find
from hgcn.kernels.rows import Doubles, Ints
from hgcn.nearest.heights import height

QUANTUM = 2.0**-30
"""Logits are rounded to multiples of it, so that rounding errors do not order equal pairs."""
EXACT = 1e-12
"""By how much logits may differ, relatively, that were found by sums in another order."""

APART: Any = np.int64(0)
"""The bucket of pairs without common neighbours; a plain 0 would be compiled for by itself."""

Bar = tuple[float, int, int]
"""The key and the nodes of a pair; to be among the best is to come before it."""
Heap = tuple[Doubles, Ints]
"""Keys and nodes of pairs, the last of all on top."""


class Pairs(NamedTuple):
    """What pairs are searched, and how they are compared.

    Attributes:
        point, at: direction and (rho, sinh(rho), exp(rho/2), exp(-rho/2)) of each node.
        places: the nodes in the order in which they are looked at.
        start, other: the sorted neighbours, which are left out.
        r, t, c: numbers of the decoder, and the curvature; c is 0 in flat space.
        structured: whether there is a structural term. The key of a pair, the smaller the better,
            is minus its rounded logit; without the term it is its height.
        both_ways: whether a pair is looked at from both its nodes.
    """

    point: Doubles
    at: Doubles
    places: Places
    start: Ints
    other: Ints
    r: float
    t: float
    c: float
    structured: bool
    both_ways: bool


@compiled(inside=True)
def _base(height: float, pairs: Pairs) -> float:
    """The logit of a height without the structural term."""
    if pairs.c > 0.0:
        height = (2.0 * math.asinh(math.sqrt(height))) ** 2 / pairs.c
    return (pairs.r - height) / pairs.t


@compiled(inside=True)
def _rounded(logit: float) -> float:
    """The key of a logit."""
    return -float(math.floor(logit / QUANTUM + 0.5))


@compiled(inside=True)
def _limit(i: int, term: float, bar: Bar, pairs: Pairs) -> float:
    """The height up to which pairs (i, j) with at most this term may come before the bar."""
    if bar[0] == np.inf:
        return np.inf
    # The least logit that is rounded to that of the bar, or, after it in order, to the next one.
    least = QUANTUM * ((0.5 if pairs.places.least[i] > bar[1] else -0.5) - bar[0]) - term
    least -= EXACT * (1.0 + abs(least) + abs(term))
    square = pairs.r - pairs.t * least
    if square < 0.0:
        return -1.0
    square *= 1.0 + EXACT
    half = 0.5 * math.sqrt(pairs.c * square)
    if half > 350.0:
        return np.inf
    return math.sinh(half) ** 2 * (1.0 + 1000.0 * EXACT) if pairs.c > 0.0 else square


@compiled(inside=True)
def _after(key: float, i: int, j: int, bar: Bar) -> bool:
    """Whether a pair comes later than another one; equal keys are ordered by node."""
    if key != bar[0]:
        return key > bar[0]
    return i > bar[1] or (i == bar[1] and j > bar[2])


@compiled(inside=True)
def _pair(heap: Heap, slot: int) -> Bar:
    return heap[0][slot], heap[1][slot, 0], heap[1][slot, 1]


@compiled(inside=True)
def _move(heap: Heap, slot: int, to: int) -> None:
    keys, ends = heap
    keys[to], ends[to, 0], ends[to, 1] = keys[slot], ends[slot, 0], ends[slot, 1]


@compiled(inside=True)
def _bar(heap: Heap, size: int, floor: Bar) -> Bar:
    """The pair to come before: the last one of a full heap, or the floor if that is earlier."""
    if size < heap[0].shape[0]:
        return floor
    last = _pair(heap, 0)
    return floor if _after(last[0], last[1], last[2], floor) else last


@compiled(inside=True)
def _put(key: float, i: int, j: int, heap: Heap, size: int) -> int:
    """Put a pair into a heap with the last pair on top, which a full heap drops; its new size."""
    keys, ends = heap
    if size < keys.shape[0]:
        slot = size
        size += 1
        while slot > 0:
            parent = (slot - 1) >> 1
            if not _after(key, i, j, _pair(heap, parent)):
                break
            _move(heap, parent, slot)
            slot = parent
    else:
        slot = 0
        while True:
            child = 2 * slot + 1
            if child >= size:
                break
            right = child + 1
            if right < size and _after(
                keys[right], ends[right, 0], ends[right, 1], _pair(heap, child)
            ):
                child = right
            if _after(key, i, j, _pair(heap, child)):
                break
            _move(heap, child, slot)
            slot = child
    keys[slot] = key
    ends[slot, 0] = i
    ends[slot, 1] = j
    return size


@compiled(inside=True)
def _listed(i: int, j: int, pairs: Pairs) -> tuple[int, int]:
    """The nodes of a pair in the order in which it is listed."""
    return (j, i) if j < i and not pairs.both_ways else (i, j)


@compiled(inside=True)
def _key_before(
    i: int, j: int, h: float, pairs: Pairs, model: Model, bar: Bar, room: Room
) -> float:
    """The key of a pair of height h if there is no edge and it comes before the bar; else inf."""
    key, base, (a, b) = h, 0.0, _listed(i, j, pairs)
    if pairs.structured:
        base = _base(h, pairs)
        for pieces in (1, PIECES):
            bound = base + pair_bound(i, j, pieces, model, room)
            key = _rounded(bound + EXACT * (1.0 + abs(bound)))
            if _after(key, a, b, bar):
                return np.inf
    if _after(key, a, b, bar):
        return np.inf
    # Few pairs come as far as this, so that a search among the neighbours costs nothing.
    if find(pairs.other, pairs.start[i], pairs.start[i + 1], j) >= 0:
        return np.inf
    if pairs.structured:
        key = _rounded(base + term_of(a, b, model, room))
        if _after(key, a, b, bar):
            return np.inf
    return key


@compiled(inside=True)
def _set_limit(
    i: int, kind: int, bucket: int, bar: Bar, pairs: Pairs, model: Model, room: Room
) -> None:
    """Find the largest term of i with nodes of a class, and how high their pairs may be."""
    for pieces in (1, PIECES):
        room.term[kind, bucket] = class_bound(i, kind, bucket, pieces, model, room)
        room.limit[kind, bucket] = _limit(i, room.term[kind, bucket], bar, pairs)
        if room.limit[kind, bucket] < 0.0:
            return


@compiled(inside=True)
def _search_near(
    i: int, pairs: Pairs, model: Model, floor: Bar, heap: Heap, size: int, room: Room
) -> int:
    """Visit node i, and put its pairs with common neighbours into a heap; returns its size."""
    term, limit, version, rank = room.term, room.limit, room.version, pairs.places.rank
    version[:] = -1
    bar, bars = _bar(heap, size, floor), 0
    reached = visit(i, model, room)
    if model.directed:
        for e in range(model.start[i], model.start[i + 1]):
            j = model.other[e]
            if find(pairs.other, pairs.start[i], pairs.start[i + 1], j) >= 0:
                continue
            h = height((pairs.point, pairs.at), i, (pairs.point, pairs.at), j, np.inf)
            key = _rounded(_base(h, pairs) + term_of(i, j, model, room))
            if not _after(key, i, j, bar):
                size = _put(key, i, j, heap, size)
                bar, bars = _bar(heap, size, floor), bars + 1
    for at in range(reached):
        j = room.reached[at]
        if room.beside[j] == i or (rank[j] < rank[i] and not pairs.both_ways):
            continue
        kind, bucket = model.kind[j], model.bucket[int(room.shared[j, 0])]
        if version[kind, bucket] != bars:
            if version[kind, bucket] < 0:
                _set_limit(i, kind, bucket, bar, pairs, model, room)
            else:
                limit[kind, bucket] = _limit(i, term[kind, bucket], bar, pairs)
            version[kind, bucket] = bars
        most = limit[kind, bucket]
        if most < 0.0:
            continue
        h = height((pairs.point, pairs.at), i, (pairs.point, pairs.at), j, most)
        if h > most:
            continue
        key = _key_before(i, j, h, pairs, model, bar, room)
        if key < np.inf:
            a, b = _listed(i, j, pairs)
            size = _put(key, a, b, heap, size)
            bar, bars = _bar(heap, size, floor), bars + 1
    return size


@compiled(inside=True)
def _search_far(
    i: int, pairs: Pairs, model: Model, floor: Bar, heap: Heap, size: int, room: Room, found: Found
) -> int:
    """Put the other pairs of node i into a heap; returns its size."""
    point, at, places = pairs.point, pairs.at, pairs.places
    term, limit = room.term[:, 0], room.limit[:, 0]
    bar = _bar(heap, size, floor)
    limit[:] = bar[0]
    if pairs.structured:
        for kind in range(len(limit)):
            _set_limit(i, kind, APART, bar, pairs, model, room)
    group = places.group[i]
    # Classes of many neighbours come last, and are the ones to begin with.
    for run in range(places.first[group + 1] - 1, places.first[group] - 1, -1):
        kind = places.kind[run]
        low = places.begin[run] if pairs.both_ways else place_after(i, run, places)
        while low < places.begin[run + 1] and limit[kind] >= 0.0:
            high = min(places.begin[run + 1], low + CHUNK)
            count = find_close(i, low, high, limit[kind], point, at, places, found)
            low = high
            for j in found[1][:count]:
                if j == i or (pairs.structured and (room.seen[j] == i or room.beside[j] == i)):
                    continue
                h = height((point, at), i, (point, at), j, limit[kind])
                if h > limit[kind]:
                    continue
                key = _key_before(i, j, h, pairs, model, bar, room)
                if key < np.inf:
                    a, b = _listed(i, j, pairs)
                    size = _put(key, a, b, heap, size)
                    bar = _bar(heap, size, floor)
                    for c in range(len(limit)):
                        limit[c] = _limit(i, term[c], bar, pairs) if pairs.structured else bar[0]
    return size


@compiled(nogil=True)
def search(
    rows: Ints,
    pairs: Pairs,
    model: Model,
    floor: Bar,
    heaps: tuple[Doubles, Ints, Ints],
    own: int,
    room: Room,
) -> None:
    """Put the best pairs of some nodes, with all nodes, into heaps.

    Args:
        rows: the nodes.
        pairs, model, room: see the types.
        floor: a pair after which none counts.
        heaps: keys ``[heap, slot]``, nodes of the pairs ``[heap, slot, 2]``, and sizes.
        own: the heap of these rows, or -1 if node i has heap i.
    """
    found = room_for_found()
    for i in rows:
        at = i if own < 0 else own
        heap = heaps[0][at], heaps[1][at]
        if pairs.structured:
            heaps[2][at] = _search_near(i, pairs, model, floor, heap, heaps[2][at], room)
        heaps[2][at] = _search_far(i, pairs, model, floor, heap, heaps[2][at], room, found)
