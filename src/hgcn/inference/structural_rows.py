"""What a node has in common with all others, and upper bounds of the structural term.

A visit of node i walks to the neighbours of its neighbours, and counts for each node v the common
neighbours of i and v. The paths of three edges from i to j are these numbers summed over the
neighbours v of j. For any j of some degree they are at most what so many of the largest add up to.

The model's own counts are estimates where nodes have thousands of neighbours: a path may have been
counted as several, or not at all. Bounds allow for both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hgcn.compiled import compiled
from hgcn.inference.structural_model import Model, any_ways, own_ways, weights_of
from hgcn.inference.structural_term import Box, new_box, upper
from hgcn.kernels.numba_cpu.counts_of_pairs import (
    MOST_PATHS,
    MOST_SHARED,
    Scratch,
    count_pair,
    find,
    scratch_of,
)
from hgcn.kernels.rows import Doubles, Ints

BUCKETS = 34
"""Numbers of common neighbours fall into buckets: 0, 1, 2, 3..4, 5..8, ..."""
PIECES = 4
"""Of the numbers of paths, for bounds that are worth the time."""
BINS = 256
"""Number of steps that the largest numbers of a row are rounded up to."""


class Room(NamedTuple):
    """What a thread writes to, for the node i that it visits.

    Attributes:
        seen: i for the nodes that have common neighbours with it.
        beside: i for its neighbours.
        reached: the nodes that have common neighbours with it.
        shared: of these, the common neighbours, Adamic-Adar, resources, and the sum of ``root``.
        parts: least and largest contribution of a neighbour to Adamic-Adar and to resources, and
            of a path of three edges to the normalised ones.
        paths: for each class, the largest number of paths of three edges, and normalised.
        term, limit: by class and bucket, the largest term and the largest height.
        version: for which bar that height is.
        values, bins: for sorting.
        box: for ``upper``.
        scratch, used: for counts, and their number so far.
    """

    seen: Ints
    beside: Ints
    reached: Ints
    shared: Doubles
    parts: Doubles
    paths: Doubles
    term: Doubles
    limit: Doubles
    version: Ints
    values: Doubles
    bins: Ints
    box: Box
    scratch: Scratch
    used: Ints


def room_for(model: Model) -> Room:
    """Room for visits, of nobody so far."""
    n, classes = len(model.ways), len(model.least)
    table = classes, BUCKETS
    return Room(
        np.full(n, -1), np.full(n, -1), np.empty(n, np.int64), np.empty((n, 4)), np.empty(6),
        np.empty((2, classes)), np.empty(table), np.empty(table), np.empty(table, np.int64),
        np.empty(n), np.empty(BINS, np.int64), new_box(len(model.out)),
        scratch_of(n), np.zeros(1, np.int64),
    )  # fmt: skip


@compiled(inside=True, error_model="numpy")
def visit(i: int, model: Model, room: Room) -> int:
    """Count what node i has in common with others; the number of nodes reached."""
    start, other, weight = model.start, model.other, model.weight
    shared, parts, count = room.shared, room.parts, 0
    parts[0], parts[1], parts[2], parts[3] = np.inf, 0.0, np.inf, 0.0
    nearer, nearest, farther, farthest = 1.0, 0.0, 1.0, 0.0
    for e in range(start[i], start[i + 1]):
        u = other[e]
        room.beside[u] = i
        adamic, root, half = model.adamic[u], model.root[u], 0.5 / model.strength[u]
        parts[0], parts[1] = min(parts[0], adamic), max(parts[1], adamic)
        nearer, nearest = min(nearer, root), max(nearest, root)
        parts[2] = min(parts[2], (weight[e] + model.lightest[u]) * half)
        parts[3] = max(parts[3], (weight[e] + model.heaviest[u]) * half)
        for f in range(start[u], start[u + 1]):
            v = other[f]
            if v == i:
                continue
            if room.seen[v] != i:
                room.seen[v] = i
                shared[v] = 0.0
                room.reached[count] = v
                count += 1
            shared[v, 0] += 1.0
            shared[v, 1] += adamic
            shared[v, 2] += (weight[e] + weight[f]) * half
            shared[v, 3] += root
    for at in range(count):
        room.values[at] = shared[room.reached[at], 0]
    _fill_largest(room.values[:count], model.most, room.bins, room.paths[0])
    for at in range(count):
        v = room.reached[at]
        room.values[at] = shared[v, 3] * model.root[v]
        farther, farthest = min(farther, model.root[v]), max(farthest, model.root[v])
    # Both inner nodes of a path have degrees of at least two.
    parts[4] = nearer * farther * (1.0 - 1e-9)
    parts[5] = min(0.5, nearest * farthest) * (1.0 + 1e-9)
    _fill_largest(room.values[:count], model.most, room.bins, room.paths[1])
    return count


@compiled(inside=True)
def _copy(values: Doubles, to: Doubles) -> None:
    # An assignment of arrays would be compiled with the texts of its errors.
    for k in range(len(values)):
        to[k] = values[k]


@compiled(inside=True, error_model="numpy")
def _fill_largest(values: Doubles, numbers: Doubles, bins: Ints, total: Doubles) -> None:
    """For each of some growing numbers, at least the sum of so many of the largest values."""
    top = 0.0
    for value in values:
        top = max(top, value)
    bins[:] = 0
    for value in values:
        bins[min(BINS - 1, int(value / top * BINS))] += 1
    taken, summed, at = 0.0, 0.0, 0
    for step in range(BINS - 1, -1, -1):
        value = (step + 1) * (top / BINS) * (1.0 + 1e-9)
        while at < len(numbers) and taken + bins[step] >= numbers[at]:
            total[at] = summed + (numbers[at] - taken) * value
            at += 1
        taken += bins[step]
        summed += bins[step] * value
    total[at:] = summed


@compiled(inside=True, error_model="numpy")
def _upper(one: float, least: float, most: float, pieces: int, model: Model, room: Room) -> float:
    """An upper bound of the term for counts in the box; it is closer in pieces.

    The number of paths is what is known least, and the normalised ones grow with it: the box is cut
    along both, and the bound is the largest of those of the pieces.
    """
    low, high, bound = room.box[0], room.box[1], -np.inf
    below, above, bottom, top = low[3], high[3], low[4], high[4]
    first, last = math.log1p(below), math.log1p(above)
    if below == above:
        pieces = 1
    for piece in range(1, pieces + 1):
        low[3] = high[3] if piece > 1 else below
        high[3] = above
        if piece < pieces:
            high[3] = min(above, math.expm1(first + (last - first) * piece / pieces))
        low[4] = max(bottom, min(top, low[3] * room.parts[4]))
        high[4] = max(low[4], min(top, high[3] * room.parts[5]))
        bound = max(bound, upper(one, least, most, weights_of(model), room.box))
    return bound


@compiled(inside=True, error_model="numpy")
def class_bound(i: int, kind: int, bucket: int, pieces: int, model: Model, room: Room) -> float:
    """An upper bound of the term of i, which was visited, and nodes of a class.

    Args:
        i: the node.
        kind: the class of the other nodes.
        bucket: that of the number of their common neighbours with i.
        pieces: of the range in which paths may be; the more, the closer is the bound.
        model, room: see the types.
    """
    low, high = room.box[0], room.box[1]
    own = float(model.start[i + 1] - model.start[i])
    least, most = model.least[kind], model.most[kind]
    if own == 0.0 or most == 0.0:
        return 0.0
    low[:] = 0.0
    high[:] = 0.0
    any_ways(i, kind, model, low, high)
    if bucket == 0:
        low[5] = high[5] = 3.0
    else:
        if min(own, most) > MOST_SHARED:
            return np.inf  # even common neighbours may be estimates
        low[5] = high[5] = 2.0
        low[0] = 1.0 if bucket == 1 else 2.0 ** (bucket - 2) + 1.0
        high[0] = min(2.0 ** (bucket - 1), own, most)
        low[1], high[1] = low[0] * room.parts[0], high[0] * room.parts[1]
        low[2], high[2] = low[0] * room.parts[2], high[0] * room.parts[3]
        low[6:10] = 0.0 if model.directed else low[0]
        high[6:10] = high[0]
    # A path is found, or not, from the node of smaller degree.
    scale = 1.0
    if own <= most:
        scale = max(1.0, own / MOST_SHARED) * max(1.0, model.ways[i] / MOST_PATHS)
    if least <= own:
        scale = max(scale, model.scale[kind])
    # A path has a pair of neighbours to itself, and both have degrees of at least two.
    paths = max(0.0, min(room.paths[0, kind], own * most - low[0]))
    high[3] = scale * paths
    high[4] = scale * min(0.5 * paths, room.paths[1, kind], math.sqrt(own * most))
    bound = _upper(own, least, most, pieces, model, room)
    return bound if bucket > 0 else max(bound, model.far[model.alike[i], kind])


@compiled(inside=True, error_model="numpy")
def pair_bound(i: int, j: int, pieces: int, model: Model, room: Room) -> float:
    """An upper bound of the term of i, which was visited, and j.

    It is the term itself, but for rounding, where nothing is an estimate.
    """
    start, other = model.start, model.other
    one, two = start[i + 1] - start[i], start[j + 1] - start[j]
    if min(one, two) > MOST_SHARED:
        return np.inf
    # The model counts from the node of smaller degree, or from either.
    ways = max(model.ways[i] if one <= two else 0.0, model.ways[j] if two <= one else 0.0)
    scale = max(1.0, ways / MOST_PATHS)
    paths = normalised = 0.0
    for e in range(start[j], start[j + 1]):
        v = other[e]
        if room.seen[v] == i:
            paths += room.shared[v, 0]
            normalised += room.shared[v, 3] * model.root[v]
    common = room.seen[j] == i
    if not common and paths == 0.0:
        return model.far[model.alike[i], model.kind[j]]
    low, high = room.box[0], room.box[1]
    low[:] = 0.0
    if common:
        _copy(room.shared[j, :3], low)
        low[6:10] = low[0]
    low[5] = 2.0 if common else 3.0
    if model.directed:
        own_ways(i, 0, model, low, high)
        own_ways(j, 1, model, low, high)
    _copy(low, high)
    if model.directed:
        low[6:10] = 0.0
    high[3], high[4] = scale * paths, scale * normalised
    if scale == 1.0:
        low[3], low[4] = paths, normalised
    bound = _upper(float(one), float(two), float(two), pieces, model, room)
    return bound if common or scale == 1.0 else max(0.0, bound)


@compiled(inside=True, error_model="numpy")
def term_of(i: int, j: int, model: Model, room: Room) -> float:
    """The term of two nodes by the model's own counts."""
    start = model.start
    edges = start, model.other, model.weight, model.strength, model.direction
    low, high = room.box[0], room.box[1]
    low[:] = 0.0
    room.used[0] += 1
    count_pair(i, j, edges, room.scratch, room.used[0], low)
    one, two = float(start[i + 1] - start[i]), float(start[j + 1] - start[j])
    if model.directed and low[5] > 0.0:
        # The edge between the two themselves does not count.
        place = find(model.other, start[i], start[i + 1], j)
        way = model.direction[place] if place >= 0 else 0
        one, two = one - (way > 0), two - (way > 0)
        low[10] = math.log1p(model.outward[i] - (way & 1)) - math.log1p(one)
        low[11] = math.log1p(model.outward[j] - (way >> 1)) - math.log1p(two)
        low[12] = math.log1p(model.inward[i] - (way >> 1)) - math.log1p(one)
        low[13] = math.log1p(model.inward[j] - (way & 1)) - math.log1p(two)
    _copy(low, high)
    return upper(one, two, two, weights_of(model), room.box)
