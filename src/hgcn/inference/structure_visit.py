"""What a node has in common with all others, found at once for the search for missing links."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from hgcn.compiled import compiled
from hgcn.inference.structure_bounds import Network, fill_facts, upper, value
from hgcn.kernels.numba_cpu.counts_of_pairs import FARTHEST, MOST_REACHED
from hgcn.kernels.rows import Doubles, Ints

BALL = 1 << 11
"""Edges up to which all nodes near a node are found at once."""
BEYOND = 4
"""The smallest distance at which two nodes have nothing else in common."""


@compiled(error_model="numpy", parallel=True)
def fill_costs(start: Ints, other: Ints, bounds: Ints, costs: Ints) -> None:
    """What the search for a distance costs: edges within 0, 1, ... steps of each node.

    Args:
        start, other: the neighbours.
        bounds: numbers of nodes that divide them into chunks.
        costs: ``[n, BEYOND + 1]``; gets at most one more than the search may look at.
    """
    for chunk in prange(len(bounds) - 1):
        seen, queue = np.full(len(costs), -1), np.empty(MOST_REACHED + 2, np.int64)
        for i in range(bounds[chunk], bounds[chunk + 1]):
            costs[i, 0] = 0
            queue[0], seen[i] = i, i
            low, high, total = 0, 1, 0
            for step in range(BEYOND):
                for at in range(low, high):
                    total += start[queue[at] + 1] - start[queue[at]]
                if total > MOST_REACHED:
                    costs[i, step + 1 :] = MOST_REACHED + 1
                    break
                costs[i, step + 1] = total
                end = high
                for at in range(low, end):
                    for e in range(start[queue[at]], start[queue[at] + 1]):
                        if seen[other[e]] != i:
                            seen[other[e]] = i
                            queue[high] = other[e]
                            high += 1
                low = end


@compiled()
def _reaches(one: Ints, two: Ints) -> bool:
    """Whether the search for the distance of two nodes may find one of more than three."""
    for a in range(BEYOND + 1):
        if one[a] + two[BEYOND - a] <= MOST_REACHED:
            return True
    return False


Rows = tuple[Ints, Ints, Doubles, Doubles]
"""The neighbours of each position: first place, positions, weights, and sums of the weights."""


Visit = tuple[Ints, Ints, Doubles, Ints, Ints, Ints]
"""What is known after a visit of a position, for each position v.

``stamp[v]`` has the visit's number where there are common neighbours, ``beside[v]`` where there is an
edge, and ``ball[v]`` where the distance is at most eight and known, in ``steps[v]``. ``shared[v]`` has the
common neighbours, Adamic-Adar, resources, and the sum of one over the roots of their degrees. A
queue comes last.
"""


@compiled(error_model="numpy")
def fill_visit(i: int, number: int, rows: Rows, visit: Visit) -> int:
    """Fill in what position i has in common with others; the distance up to which all is known.

    The number of the visit must be new.
    """
    start, other, weight, strength = rows
    stamp, beside, shared = visit[:3]
    for e in range(start[i], start[i + 1]):
        u = other[e]
        beside[u] = number
        degree = float(start[u + 1] - start[u])
        amount, root = 1.0 / math.log(max(2.0, degree)), 1.0 / math.sqrt(degree)
        for f in range(start[u], start[u + 1]):
            v = other[f]
            if v == i:
                continue
            if stamp[v] != number:
                stamp[v] = number
                shared[v] = 0.0
            shared[v, 0] += 1.0
            shared[v, 1] += amount
            shared[v, 2] += (weight[e] + weight[f]) / (2.0 * strength[u])
            shared[v, 3] += root


    return _walk(i, number, start, other, visit[3], visit[4], visit[5])


@compiled()
def _walk(
    i: int, number: int, start: Ints, other: Ints, ball: Ints, steps: Ints, queue: Ints
) -> int:
    """All positions near i, in the order of their distance; the distance up to which they are."""
    ball[i], steps[i], queue[0] = number, 0, i
    low, high, looked = 0, 1, 0
    for step in range(FARTHEST):
        for at in range(low, high):
            looked += start[queue[at] + 1] - start[queue[at]]
        if looked > BALL:
            return step
        end = high
        for at in range(low, end):
            for e in range(start[queue[at]], start[queue[at] + 1]):
                v = other[e]
                if ball[v] != number:
                    ball[v], steps[v] = number, step + 1
                    queue[high] = v
                    high += 1
        low = end
    return FARTHEST


@compiled()
def visit_of(n: int) -> Visit:
    """A visit of nobody."""
    return (
        np.full(n, -1), np.full(n, -1), np.empty((n, 4)), np.full(n, -1), np.empty(n, np.int64),
        np.empty(n, np.int64),
    )  # fmt: skip


Work = tuple[Doubles, Doubles, Doubles, Doubles]
"""Room for counts, for two rows of facts, and for the hidden numbers of the network."""


@compiled()
def _far_bound(
    i: int, j: int, degrees: tuple[float, float], visit: Visit, number: int, known: int,
    costs: Ints, most: float, network: Network, work: Work,
) -> float:  # fmt: skip
    """An upper bound of the term of positions without common neighbours or paths of three."""
    if visit[3][j] != number and known == FARTHEST:
        return 0.0
    if not _reaches(costs[i], costs[j]):
        return 0.0
    if visit[3][j] != number:
        return most
    work[0][:] = 0.0
    work[0][5] = visit[4][j]
    fill_facts(work[0], degrees[0], degrees[1], work[1])
    return max(0.0, value(work[1], network, work[3]))


@compiled(error_model="numpy")
def term_bound(
    i: int, j: int, scale: float, rows: Rows, visit: Visit, number: int, known: int, costs: Ints,
    most: float, network: Network, work: Work,
) -> float:  # fmt: skip
    """An upper bound of the term of i, which was visited, and j, which is no neighbour of it.

    It is the term itself but for rounding where paths are not sampled, the scale being 1.
    """
    start, other = rows[0], rows[1]
    stamp, shared = visit[0], visit[2]
    degrees = float(start[i + 1] - start[i]), float(start[j + 1] - start[j])
    if visit[3][j] != number and known >= 3:
        return _far_bound(i, j, degrees, visit, number, known, costs, most, network, work)
    counts, low, high, hidden = work
    paths = normalised = 0.0
    for e in range(start[j], start[j + 1]):
        v = other[e]
        if stamp[v] == number:
            paths += shared[v, 0]
            normalised += shared[v, 3] / math.sqrt(float(start[v + 1] - start[v]))
    counts[:] = 0.0
    if stamp[j] == number:
        counts[:3] = shared[j, :3]
        counts[5] = 2.0
    elif paths > 0.0:
        counts[5] = 3.0
    else:
        return _far_bound(i, j, degrees, visit, number, known, costs, most, network, work)
    if scale > 1.0:
        fill_facts(counts, degrees[0], degrees[1], low)
    counts[3], counts[4] = scale * paths, scale * normalised
    fill_facts(counts, degrees[0], degrees[1], high)
    if scale == 1.0:
        return value(high, network, hidden)
    bound = upper(low, high, network, hidden)
    return bound if counts[5] == 2.0 else max(0.0, bound)
