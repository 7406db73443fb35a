"""The structural term of a link in compiled code: its value, and its largest values.

The largest value of the term is asked for kinds of pairs: nodes are put into classes by their
degree, and for two classes the facts of a pair lie between bounds that are known. An upper bound of
the small network follows by interval arithmetic, which is exact where the facts are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.numba_cpu.counts_of_pairs import FARTHEST, MOST_PATHS, MOST_SHARED
from hgcn.kernels.rows import Doubles, Ints

if TYPE_CHECKING:
    from hgcn.nn.structure import StructureTerm

Network = tuple[Doubles, Doubles, Doubles]
"""Weights of the facts for the hidden numbers ``[facts, hidden]``, of these, and direct ones."""

# The columns of hgcn.nn.structure.pair_facts.
LINKED, COMMON, PATHS, ADAMIC, RESOURCES, NORMALISED, DISTANCE = 0, 1, 2, 3, 4, 5, 6
SUM, GAP, LOW = DISTANCE + FARTHEST - 1, DISTANCE + FARTHEST, DISTANCE + FARTHEST + 1
COLUMNS = LOW + 1

# What is known of a class of nodes.
FEWEST, MOST, FEWEST_BESIDE, MOST_BESIDE, SCALE, WAYS, LEAST_PART, MOST_PART = range(8)


def network_of(term: StructureTerm) -> Network:
    """The weights of a structural term in double precision."""
    hidden, out, direct = (
        part.weight.detach().cpu().double().numpy() for part in (term.hidden, term.out, term.direct)
    )
    return np.ascontiguousarray(hidden.T), out[0].copy(), direct[0].copy()


@compiled()
def fill_facts(counts: Doubles, one: float, two: float, facts: Doubles) -> None:
    """The facts of a pair from its counts and the degrees of its nodes."""
    facts[:] = 0.0
    if counts[5] == 0.0:
        return
    facts[LINKED] = 1.0
    facts[COMMON], facts[PATHS] = math.log1p(counts[0]), math.log1p(counts[3])
    facts[ADAMIC], facts[RESOURCES] = math.sqrt(counts[1]), math.sqrt(counts[2])
    facts[NORMALISED] = math.sqrt(counts[4])
    facts[DISTANCE + int(counts[5]) - 2] = 1.0
    low, high = math.log1p(min(one, two)), math.log1p(max(one, two))
    facts[SUM], facts[GAP], facts[LOW] = low + high, high - low, low


@compiled()
def upper(low: Doubles, high: Doubles, network: Network, work: Doubles) -> float:
    """An upper bound of the term for facts between two bounds; its value where they are equal."""
    hidden, out, direct = network
    least, most = work[0], work[1]
    least[:] = 0.0
    most[:] = 0.0
    total = 0.0
    for f in range(hidden.shape[0]):
        a, b = low[f], high[f]
        if a == 0.0 and b == 0.0:
            continue
        total += max(direct[f] * a, direct[f] * b)
        for h in range(hidden.shape[1]):
            one, two = hidden[f, h] * a, hidden[f, h] * b
            least[h] += min(one, two)
            most[h] += max(one, two)
    for h in range(hidden.shape[1]):
        total += out[h] * max(0.0, most[h] if out[h] > 0 else least[h])
    return total


@compiled()
def value(facts: Doubles, network: Network, work: Doubles) -> float:
    """The term, by the same sums in the same order as :func:`upper`."""
    hidden, out, direct = network
    inner = work[0]
    inner[:] = 0.0
    total = 0.0
    for f in range(hidden.shape[0]):
        a = facts[f]
        if a == 0.0:
            continue
        total += direct[f] * a
        for h in range(hidden.shape[1]):
            inner[h] += hidden[f, h] * a
    for h in range(hidden.shape[1]):
        total += out[h] * max(0.0, inner[h])
    return total


@compiled()
def _degree_box(one: Doubles, two: Doubles, low: Doubles, high: Doubles) -> None:
    """Bounds of the facts that are degrees, for a class and one of no smaller degrees."""
    low[:] = 0.0
    high[:] = 0.0
    low[LINKED] = high[LINKED] = 1.0
    a, b = math.log1p(one[FEWEST]), math.log1p(one[MOST])
    c, d = math.log1p(two[FEWEST]), math.log1p(two[MOST])
    low[SUM], high[SUM] = a + c, b + d
    low[GAP], high[GAP] = max(0.0, c - b), d - a
    low[LOW], high[LOW] = a, b


@compiled()
def _following(last: float, most: float, whole: bool) -> tuple[float, float]:
    """The range of counts after one that ends at ``last``: 1, 2, 3..4, 5..8, ...

    Estimates are not whole numbers, but none is between 0 and 1: their ranges touch from there on.
    """
    first = last + 1.0 if whole or last == 0.0 else last
    return first, max(first, min(most, 2.0 * last))


@compiled()
def _over_paths(
    most: float, whole: bool, parts: tuple[float, float], low: Doubles, high: Doubles,
    network: Network, work: Doubles,
) -> float:  # fmt: skip
    """The largest bound over all numbers of paths from none to most."""
    best, first, last = -np.inf, 0.0, 0.0
    while True:
        low[PATHS], high[PATHS] = math.log1p(first), math.log1p(last)
        low[NORMALISED], high[NORMALISED] = math.sqrt(parts[0] * first), math.sqrt(parts[1] * last)
        best = max(best, upper(low, high, network, work))
        if last >= most:
            return best
        first, last = _following(last, most, whole)


@compiled()
def _near(
    one: Doubles, two: Doubles, network: Network, low: Doubles, high: Doubles, work: Doubles
) -> tuple[float, float]:
    """Bounds for pairs with common neighbours, and for those with paths of three edges only."""
    _degree_box(one, two, low, high)
    # Work is bounded by sampling from the node of smaller degree.
    scale, ways = one[SCALE], one[WAYS]
    if one[MOST] >= two[FEWEST]:
        scale, ways = max(scale, two[SCALE]), max(ways, two[WAYS])
    whole, sampled = scale == 1.0, one[MOST] > MOST_SHARED
    ways = 1.001 * ways + scale
    # Each path has an edge of its own between neighbours; a common neighbour gives it none.
    ends = one[MOST] * two[MOST]
    parts = (
        1.0 / math.sqrt(max(2.0, one[MOST_BESIDE]) * max(2.0, two[MOST_BESIDE])),
        1.0 / math.sqrt(max(2.0, one[FEWEST_BESIDE]) * max(2.0, two[FEWEST_BESIDE])),
    )
    low[DISTANCE + 1] = high[DISTANCE + 1] = 1.0
    three = _over_paths(min(scale * ends, ways), whole, parts, low, high, network, work)
    low[DISTANCE + 1] = high[DISTANCE + 1] = 0.0
    low[DISTANCE] = high[DISTANCE] = 1.0
    few = max(2.0, max(one[FEWEST_BESIDE], two[FEWEST_BESIDE]))
    many = min(one[MOST_BESIDE], two[MOST_BESIDE])
    most = 1.001 * one[MOST] if sampled else one[MOST]
    best, first, last = -np.inf, 1.0, 1.0
    while few <= many:
        low[COMMON], high[COMMON] = math.log1p(first), math.log1p(last)
        low[ADAMIC] = math.sqrt(first * (1.0 / math.log(many)))
        high[ADAMIC] = math.sqrt(last * (1.0 / math.log(few)))
        low[RESOURCES] = math.sqrt(first * max(one[LEAST_PART], two[LEAST_PART]))
        high[RESOURCES] = math.sqrt(last * min(one[MOST_PART], two[MOST_PART]))
        paths = scale * (ends if sampled else ends - first)
        best = max(best, _over_paths(min(paths, ways), whole, parts, low, high, network, work))
        if last >= most:
            break
        first, last = _following(last, most, not sampled)
    return best, three


@compiled()
def fill_bounds(classes: Doubles, network: Network, near: Doubles, far: Doubles) -> None:
    """Upper bounds of the term for pairs of classes, which are in the order of their degrees.

    Args:
        classes: what is known of each class, ``[K, 8]``.
        network: the weights of the term.
        near: gets the bounds of pairs with common neighbours, and of pairs without them that have
            paths of three edges, ``[2, K, K]``.
        far: gets the bounds of pairs that are farther from each other, ``[K, K]``.
    """
    low, high = np.zeros(COLUMNS), np.zeros(COLUMNS)
    work = np.zeros((2, network[0].shape[1]))
    near[:] = -np.inf
    far[:] = 0.0
    for a in range(len(classes)):
        if classes[a, MOST] == 0:
            continue  # isolated nodes have nothing in common with any other
        for b in range(a, len(classes)):
            two, three = _near(classes[a], classes[b], network, low, high, work)
            near[0, a, b] = near[0, b, a] = two
            near[1, a, b] = near[1, b, a] = three
            for distance in range(4, FARTHEST + 1):
                _degree_box(classes[a], classes[b], low, high)
                low[DISTANCE + distance - 2] = high[DISTANCE + distance - 2] = 1.0
                far[a, b] = max(far[a, b], upper(low, high, network, work))
            far[b, a] = far[a, b]


@compiled(error_model="numpy")
def fill_scale(start: Ints, other: Ints, scale: Doubles, ways: Doubles) -> None:
    """By how much a path found from a node is scaled up at most, and its number of ways."""
    for i in range(len(scale)):
        degree = start[i + 1] - start[i]
        total = 0
        for e in range(start[i], start[i + 1]):
            total += start[other[e] + 1] - start[other[e]]
        thin = max(1.0, degree / MOST_SHARED)
        scale[i] = thin * max(1.0, total / MOST_PATHS)
        ways[i] = thin * total
