r"""The compiled search for the most probable links of a network with a structural term.

Logits are :math:`(r - d^2)/t + s`. Nodes are in blocks of close points with like degrees, see
``structured_links.py``, so that a block is passed over where its closest point and the largest
``s`` of its degrees are not enough. Of a pair that is left, what is cheap comes first: the distance,
then the neighbours in common, then the paths of three edges, then the counts of the model itself,
which alone decide.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from hgcn.compiled import compiled
from hgcn.inference.pair_search import _height, _linked, _put
from hgcn.inference.structure_bounds import COLUMNS, Network, fill_facts, value
from hgcn.inference.structure_visit import (
    Rows,
    Visit,
    Work,
    fill_visit,
    term_bound,
    visit_of,
)
from hgcn.kernels.numba_cpu.counts_of_pairs import (
    MOST_PATHS,
    MOST_SHARED,
    Scratch,
    count_pair,
    scratch_of,
)
from hgcn.kernels.rows import Doubles, Ints

QUANTUM = 2.0**-30
"""Logits are rounded to multiples of it, so that rounding errors do not order equal pairs."""
SLACK = 1e-8
"""By how much limits are eased, relatively."""
ROUGH = 1e-6
"""By how much distances may be wrong, relatively, where one is compared with two others."""
EXACT = 1e-12
"""By how much logits may differ, relatively, that were found by sums in another order."""
COUNTING = 400
"""The work of counting for one pair, in edges visited."""

Points = tuple[Doubles, Doubles, Ints, Doubles, Doubles, Ints]
"""Direction, radial numbers and node of each position, two factors of the heights, and classes.

The product of row i of the first factor ``[n, D]`` and row j of the second is a lower bound of the
height of two positions, plus one half in hyperbolic space.
"""
Blocks = tuple[Ints, Ints, Doubles, Ints, Ints, Ints]
"""First positions, central ones, radii, classes, smallest nodes, and the blocks of the graph."""
Model = tuple[tuple[Ints, Ints, Doubles, Doubles], Network, tuple[float, float, float]]
"""The graph as the model counts on it, the structural term, and (r, t, c)."""
Bounds = tuple[Doubles, Doubles, Doubles]
"""Of classes: the largest term, without common neighbours, and without paths of three either."""
Paths = tuple[Rows, Ints, Doubles]
"""Neighbours of positions, costs of searches for distances, and numbers of ways of two steps."""


@compiled()
def rounded(logit: float) -> float:
    """A logit as it is compared."""
    return math.floor(logit / QUANTUM + 0.5) * QUANTUM


@compiled()
def _square_of(height: float, c: float) -> float:
    """The squared distance that a height stands for; c is 0 in flat space."""
    if c == 0.0:
        return height
    length = 2.0 * math.asinh(math.sqrt(height))
    return length * length / c


@compiled()
def _height_of(square: float, c: float) -> float:
    """The height of a squared distance, a little more: a limit."""
    if square < 0.0:
        return -1.0
    square += SLACK * square + 1e-12
    if c == 0.0 or square == np.inf:
        return square
    half = 0.5 * math.sqrt(c * square)
    if half > 350.0:
        return np.inf
    return math.sinh(half) ** 2 * (1.0 + SLACK)


@compiled()
def fill_radii(points: Points, first: Ints, central: Ints, c: float, radius: Doubles) -> None:
    """The largest distance from the central position of each block to its others."""
    for block in range(len(radius)):
        most = 0.0
        for b in range(first[block], first[block + 1]):
            most = max(most, _height(points[0], points[1], central[block], b, np.inf))
        radius[block] = math.sqrt(_square_of(most, c)) * (1.0 + ROUGH)


@compiled()
def _limit(theta: float, term: float, decoder: tuple[float, float, float]) -> float:
    """The height up to which a pair with at most this term may have a logit of theta."""
    r, t, c = decoder
    if theta == -np.inf:
        return np.inf
    logit = theta - term
    return _height_of(r - t * (logit - SLACK * (1.0 + abs(logit) + abs(term))), c)


Bar = tuple[float, int, int]
"""The last pair that counts: its rounded logit and its nodes; minus infinity if all do."""


@compiled()
def _misses(bound: float, first: int, second: int, bar: Bar) -> bool:
    """Whether no pair with this logit at most, and these nodes at least, comes before the bar."""
    logit = rounded(bound + EXACT * (1.0 + abs(bound)))
    if logit != bar[0]:
        return logit < bar[0]
    return first > bar[1] or (first == bar[1] and second > bar[2])


@compiled()
def _listed(i: int, j: int, both_ways: bool) -> tuple[int, int]:
    """A pair as it is listed: the smaller node first, unless both ways are."""
    return (i, j) if both_ways or i < j else (j, i)


@compiled()
def _bar(heap: tuple[Doubles, Ints], size: int, floor: Bar) -> Bar:
    """The pair to come before: the last one of a full heap, or the floor if that is earlier."""
    height, ends = heap
    if size < height.shape[0] or -height[0] < floor[0]:
        return floor
    if -height[0] == floor[0] and (ends[0, 0], ends[0, 1]) > (floor[1], floor[2]):
        return floor
    return -height[0], ends[0, 0], ends[0, 1]


@compiled()
def _block_bound(
    position: int, radius: float, block: int, points: Points, blocks: Blocks,
    decoder: tuple[float, float, float], term: float,
) -> float:  # fmt: skip
    """An upper bound of the logits between points around a position and those of a block."""
    r, t, c = decoder
    height = _height(points[0], points[1], position, blocks[1][block], np.inf)
    gap = math.sqrt(_square_of(height, c)) * (1.0 - ROUGH) - radius - blocks[2][block]
    gap = max(0.0, gap)
    return (r - gap * gap) / t + term


@compiled()
def _logit(
    i: int, j: int, height: float, model: Model, scratch: Scratch, stamp: int, work: Work
) -> float:
    """The rounded logit of a pair of nodes by the model's own counts."""
    graph, network, decoder = model
    start = graph[0]
    work[0][:] = 0.0
    count_pair(i, j, graph, scratch, stamp, work[0])
    fill_facts(work[0], start[i + 1] - start[i], start[j + 1] - start[j], work[1])
    r, t, c = decoder
    return rounded((r - _square_of(height, c)) / t + value(work[1], network, work[3]))


Room = tuple[Visit, Scratch, Work, Ints]
"""What a worker writes to; at last the numbers of visits and counts so far."""


@compiled()
def _search_row(
    a: int,
    found: Ints,
    points: Points,
    paths: Paths,
    model: Model,
    edges: tuple[Ints, Ints],
    bounds: Bounds,
    both_ways: bool,
    floor: Bar,
    heap: tuple[Doubles, Ints],
    size: int,
    room: Room,
) -> int:
    """Put the pairs of position a with those found into a heap; returns its size."""
    point, at, node, _, _, kind = points
    rows, costs, ways = paths
    network, decoder = model[1], model[2]
    visit, scratch, work, number = room
    degree = rows[0][a + 1] - rows[0][a]
    known, spent, last = -1, 0.0, -1
    limit = limit_without = np.inf
    bar = _bar(heap, size, floor)
    for b in found:
        classes = kind[a], kind[b]
        if kind[b] != last:
            last = kind[b]
            limit = _limit(bar[0], bounds[0][classes], decoder)
            limit_without = _limit(bar[0], bounds[1][classes], decoder)
        height = _height(point, at, a, b, limit)
        if height > limit or a == b:
            continue
        visited = number[0] if known >= 0 else -2
        if (
            known >= 0
            and height > limit_without
            and visit[0][b] != visited
            and visit[1][b] != visited
        ):
            continue
        one, two = _listed(node[a], node[b], both_ways)
        if _linked(edges[1], edges[0][one], edges[0][one + 1], two):
            continue
        if known < 0:
            if spent >= ways[a]:
                number[0] += 1
                visited = number[0]
                known = fill_visit(a, visited, rows, visit)
            spent += COUNTING
        other = rows[0][b + 1] - rows[0][b]
        if known >= 0 and visit[1][b] != visited and min(degree, other) <= MOST_SHARED:
            fewer = a if degree < other or (degree == other and one == node[a]) else b
            term = term_bound(
                a, b, max(1.0, ways[fewer] / MOST_PATHS), rows, visit, visited, known, costs,
                bounds[2][classes], network, work,
            )  # fmt: skip
            bound = (decoder[0] - _square_of(height, decoder[2])) / decoder[1] + term
            if _misses(bound, one, two, bar):
                continue
        number[1] += 1
        logit = _logit(one, two, height, model, scratch, number[1], work)
        if logit < bar[0] or (logit == bar[0] and (one, two) > (bar[1], bar[2])):
            continue
        size = _put(-logit, one, two, heap[0], heap[1], size)
        bar, last = _bar(heap, size, floor), -1
    return size


@compiled()
def _find(
    span: tuple[int, int],
    own: int,
    some: tuple[int, int],
    points: Points,
    blocks: Blocks,
    bounds: Bounds,
    both_ways: bool,
    bars: tuple[Doubles, Ints],
    decoder: tuple[float, float, float],
    found: Ints,
) -> Ints:
    """The positions in some blocks that may matter to each position of a span; their numbers.

    A product of matrices takes a tenth of the time of exact heights.
    """
    first, central, radius, kind, smallest, _ = blocks
    low, high = span
    count = np.zeros(high - low, np.int64)
    limit = np.full(high - low, np.inf)
    shift = 0.5 if decoder[2] > 0.0 else 0.0
    last = -1
    needed = np.empty(high - low, np.bool_)
    for block in range(some[0], some[1]):
        term = bounds[0][kind[own], kind[block]]
        bound = _block_bound(central[own], radius[own], block, points, blocks, decoder, term)
        for row in range(high - low):
            bar = bars[0][row], bars[1][row, 0], bars[1][row, 1]
            one, two = _listed(points[2][low + row], smallest[block], both_ways)
            needed[row] = not _misses(bound, one, two, bar)
        if not needed.any():
            continue
        if kind[block] != last:
            last = kind[block]
            for row in range(high - low):
                if row > 0 and bars[0][row] == bars[0][row - 1]:
                    limit[row] = limit[row - 1]
                else:
                    limit[row] = _limit(bars[0][row], term, decoder) + shift
        begin, end = first[block], first[block + 1]
        tile = np.dot(points[3][low:high], points[4][begin:end].T)
        for row in range(high - low):
            if not needed[row]:
                continue
            most, at = limit[row], count[row]
            for b in range(end - begin):
                found[row, at] = begin + b
                # Not "<=": what is no number is looked at.
                at += not tile[row, b] > most
            count[row] = at
    return count


@compiled()
def _search_worker(
    worker: int,
    span: tuple[int, int, int, int],
    points: Points,
    blocks: Blocks,
    paths: Paths,
    model: Model,
    edges: tuple[Ints, Ints],
    bounds: Bounds,
    modes: tuple[bool, bool],
    floor: Bar,
    heaps: tuple[Doubles, Ints, Ints],
) -> None:
    """The part of :func:`search_blocks` that one worker does."""
    both_ways, per_node = modes
    height, ends, size = heaps
    n, width = len(points[2]), model[1][0].shape[1]
    work = np.zeros(6), np.zeros(COLUMNS), np.zeros(COLUMNS), np.zeros((2, width))
    room = visit_of(n), scratch_of(n), work, np.zeros(2, np.int64)
    found = np.empty((span[3], n + 1), np.int32)
    bars = np.empty(span[3]), np.empty((span[3], 2), np.int64)
    for own in range(span[0] + worker, span[1], span[2]):
        begin, end = blocks[5][own]
        begin = begin if both_ways else own
        for low in range(blocks[0][own], blocks[0][own + 1], span[3]):
            high = min(low + span[3], blocks[0][own + 1])
            # Few blocks first, and then more and more at a time: what they have raises the bar. One
            # that other rows have raised already needs no such care.
            some, more = begin, 1
            while some < end:
                for row in range(high - low):
                    at = points[2][low + row] if per_node else worker
                    bar = _bar((height[at], ends[at]), size[at], floor)
                    bars[0][row], bars[1][row, 0], bars[1][row, 1] = bar
                if not per_node and bars[0][0] > -np.inf:
                    more = end - some
                group = some, min(end, some + more)
                some, more = group[1], 4 * more
                count = _find(
                    (low, high), own, group, points, blocks, bounds, both_ways, bars, model[2],
                    found,
                )  # fmt: skip
                for row in range(high - low):
                    a = low + row
                    at = points[2][a] if per_node else worker
                    skipped = 0
                    if not both_ways:  # positions before it had it already
                        while skipped < count[row] and found[row, skipped] <= a:
                            skipped += 1
                    size[at] = _search_row(
                        a, found[row, skipped : count[row]], points, paths, model, edges, bounds,
                        both_ways, floor, (height[at], ends[at]), size[at], room,
                    )  # fmt: skip


@compiled(parallel=True)
def search_blocks(
    span: tuple[int, int, int, int],
    points: Points,
    blocks: Blocks,
    rows: Rows,
    costs: Ints,
    ways: Doubles,
    graph: tuple[Ints, Ints, Doubles, Doubles],
    network: Network,
    decoder: tuple[float, float, float],
    edges: tuple[Ints, Ints],
    bounds: Bounds,
    modes: tuple[bool, bool],
    floor: Bar,
    heaps: tuple[Doubles, Ints, Ints],
) -> None:
    """Put the most probable pairs of the nodes of some blocks into heaps.

    Args:
        span: the first block, the one after the last, the number of workers they are dealt to, and
            how many rows are searched together.
        points, blocks: see the types.
        rows, costs, ways: as in ``Paths``.
        graph, network, decoder: as in ``Model``.
        edges: the sorted neighbours of nodes, which are left out.
        bounds: see the type.
        modes: whether a pair is looked at from both its nodes, and whether node i has heap i; else
            each worker has one.
        floor: a pair after which none counts.
        heaps: negative rounded logits ``[heap, slot]``, nodes ``[heap, slot, 2]``, and sizes.
    """
    for worker in prange(span[2]):
        _search_worker(
            np.int64(worker), span, points, blocks, (rows, costs, ways), (graph, network, decoder),
            edges, bounds, modes, floor, heaps,
        )  # fmt: skip
