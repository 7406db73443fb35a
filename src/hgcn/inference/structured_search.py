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
from hgcn.kernels.numba_cpu.pair_counts import (
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

Points = tuple[Doubles, Doubles, Ints, Doubles, Doubles]
"""Direction, radial numbers and node of each position, and two factors of the heights.

The product of row i of the first factor, ``[n, D]``, and column j of the second, ``[D, n]``, is a
lower bound of the height of two positions, but for a number that all have in common.
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


@compiled(fastmath=True)
def _fill_tile(a: int, low: int, high: int, points: Points, shift: float, tile: Doubles) -> None:
    """Lower bounds of the heights of position a and those from low to high.

    A product of matrices takes a tenth of the time of exact heights.
    """
    one, two = points[3], points[4]
    width = high - low
    for b in range(width):
        tile[b] = -shift
    for k in range(one.shape[1]):
        factor, column = one[a, k], two[k]
        for b in range(width):
            tile[b] += factor * column[low + b]


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


@compiled()
def _search_row(
    a: int,
    own: int,
    chosen: Ints,
    points: Points,
    blocks: Blocks,
    paths: Paths,
    model: Model,
    edges: tuple[Ints, Ints],
    bounds: Bounds,
    both_ways: bool,
    floor: Bar,
    heap: tuple[Doubles, Ints],
    size: int,
    room: tuple[Visit, Scratch, Work, Ints, Doubles],
) -> int:
    """Put the pairs of position a with those of some blocks into a heap; returns its size."""
    point, at, node = points[:3]
    first, _, _, kind, smallest, _ = blocks
    rows, costs, ways = paths
    network, decoder = model[1], model[2]
    visit, scratch, work, stamp, tile = room
    shift = 0.5 if decoder[2] > 0.0 else 0.0
    i = node[a]
    degree = rows[0][a + 1] - rows[0][a]
    known, spent = -1, 0.0
    bar = _bar(heap, size, floor)
    for block in chosen:
        classes = kind[own], kind[block]
        most, without = bounds[0][classes], bounds[1][classes]
        bound = _block_bound(a, 0.0, block, points, blocks, decoder, most)
        one, two = _listed(i, smallest[block], both_ways)
        if _misses(bound, one, two, bar):
            continue
        limit, limit_without = _limit(bar[0], most, decoder), _limit(bar[0], without, decoder)
        low = a + 1 if block == own and not both_ways else first[block]
        _fill_tile(a, first[block], first[block + 1], points, shift, tile)
        for b in range(low, first[block + 1]):
            if tile[b - first[block]] > limit:
                continue
            height = _height(point, at, a, b, limit)
            if height > limit or a == b:
                continue
            if known >= 0 and height > limit_without and visit[0][b] != a and visit[1][b] != a:
                continue
            one, two = _listed(i, node[b], both_ways)
            if _linked(edges[1], edges[0][one], edges[0][one + 1], two):
                continue
            if known < 0:
                if spent >= ways[a]:
                    known = fill_visit(a, rows, visit)
                spent += COUNTING
            other = rows[0][b + 1] - rows[0][b]
            if known >= 0 and visit[1][b] != a and min(degree, other) <= MOST_SHARED:
                fewer = a if degree < other or (degree == other and one == i) else b
                term = term_bound(
                    a, b, max(1.0, ways[fewer] / MOST_PATHS), rows, visit, known, costs,
                    bounds[2][classes], network, work,
                )  # fmt: skip
                bound = (decoder[0] - _square_of(height, decoder[2])) / decoder[1] + term
                if _misses(bound, one, two, bar):
                    continue
            stamp[0] += 1
            logit = _logit(one, two, height, model, scratch, stamp[0], work)
            if logit < bar[0] or (logit == bar[0] and (one, two) > (bar[1], bar[2])):
                continue
            size = _put(-logit, one, two, heap[0], heap[1], size)
            bar = _bar(heap, size, floor)
            limit, limit_without = _limit(bar[0], most, decoder), _limit(bar[0], without, decoder)
    return size


@compiled()
def _choose(
    own: int, points: Points, blocks: Blocks, bounds: Bounds, both_ways: bool, bar: Bar,
    decoder: tuple[float, float, float],
) -> Ints:  # fmt: skip
    """The blocks that may have a pair with a block that comes before the bar."""
    central, radius, kind, smallest, begin_end = blocks[1:]
    low = begin_end[own, 0] if both_ways else own
    chosen = np.empty(begin_end[own, 1] - low, np.int64)
    count = 0
    for block in range(low, begin_end[own, 1]):
        term = bounds[0][kind[own], kind[block]]
        bound = _block_bound(central[own], radius[own], block, points, blocks, decoder, term)
        pair = _listed(smallest[own], smallest[block], both_ways)
        # Of two blocks that overlap, a pair of the smaller node of both with any other.
        if not _misses(bound, pair[0], 0 if not both_ways else pair[1], bar):
            chosen[count] = block
            count += 1
    return chosen[:count]


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
    room = visit_of(n), scratch_of(n), work, np.zeros(1, np.int64), np.empty(span[3])
    for own in range(span[0] + worker, span[1], span[2]):
        bar = floor
        if not per_node:
            bar = _bar((height[worker], ends[worker]), size[worker], floor)
        chosen = _choose(own, points, blocks, bounds, both_ways, bar, model[2])
        for a in range(blocks[0][own], blocks[0][own + 1]):
            at = points[2][a] if per_node else worker
            size[at] = _search_row(
                a, own, chosen, points, blocks, paths, model, edges, bounds, both_ways, floor,
                (height[at], ends[at]), size[at], room,
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
            the size of the largest block.
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
