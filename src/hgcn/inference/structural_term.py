"""The structural term of a link in compiled code: its facts, its value, and upper bounds of it.

Facts that are not known lie between a low and a high row of facts. An upper bound of the small
network follows by interval arithmetic, and is its value where both rows are the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hgcn.compiled import compiled
from hgcn.kernels.rows import FARTHEST, Doubles

if TYPE_CHECKING:
    from hgcn.nn.structure import StructureTerm

Network = tuple[Doubles, Doubles, Doubles]
"""Weights of the facts for the hidden numbers ``[facts, hidden]``, of these, and direct ones."""
Box = tuple[Doubles, Doubles, Doubles, Doubles, Doubles]
"""Low and high counts, low and high facts, and room for the hidden numbers of the network.

Counts are those of :func:`hgcn.kernels.pair_counts`, and then, as logarithms, how much the degrees
out of the two nodes and those into them differ from their degrees.
"""

# The columns of hgcn.nn.structure.pair_facts.
LINKED, COMMON, PATHS, ADAMIC, RESOURCES, NORMALISED, DISTANCE = range(7)
SUM, GAP, LOW = DISTANCE + FARTHEST - 1, DISTANCE + FARTHEST, DISTANCE + FARTHEST + 1
DIRECTIONS = LOW + 1
COLUMNS = DIRECTIONS + 8
COUNTS = 14
"""Length of a row of counts."""


def network_of(term: StructureTerm) -> Network:
    """The weights of a structural term in double precision."""
    hidden, out, direct = (
        part.weight.detach().cpu().double().numpy() for part in (term.hidden, term.out, term.direct)
    )
    return np.ascontiguousarray(hidden.T), out[0].copy(), direct[0].copy()


def new_box(width: int) -> Box:
    """Room for the bounds of a network with so many hidden numbers."""
    hidden = np.zeros((2, width))
    return np.zeros(COUNTS), np.zeros(COUNTS), np.zeros(COLUMNS), np.zeros(COLUMNS), hidden


@compiled()
def fill_facts(counts: Doubles, one: float, two: float, facts: Doubles) -> None:
    """The facts of a pair from its counts and the degrees of its nodes.

    None falls when a count grows, but for those of directions when common neighbours do, and of
    those by degrees only the gap may.
    """
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
    for way in range(4):
        if counts[6 + way] != counts[0]:  # seldom so, and logarithms take a while
            facts[DIRECTIONS + way] = math.log1p(counts[6 + way]) - facts[COMMON]
        facts[DIRECTIONS + 4 + way] = counts[10 + way]


@compiled(inside=True)
def upper(one: float, least: float, most: float, network: Network, box: Box) -> float:
    """An upper bound of the term for counts in a box, of nodes with these degrees.

    Args:
        one: the degree of the one node.
        least, most: degrees between which that of the other one lies.
        network: the weights.
        box: low and high counts, of the same distance; the rest is written to.
    """
    low, high, smallest, largest = box[2], box[3], box[4][0], box[4][1]
    fill_facts(box[0], one, least, low)
    fill_facts(box[1], one, most, high)
    if least < most:
        gaps = low[GAP], high[GAP]
        low[GAP] = 0.0 if least <= one <= most else min(gaps[0], gaps[1])
        high[GAP] = max(gaps[0], gaps[1])
    for way in range(4):
        if box[0][6 + way] < box[0][0]:  # else all common neighbours have this direction
            f, width = DIRECTIONS + way, high[COMMON] - low[COMMON]
            low[f], high[f] = low[f] - width, min(0.0, high[f] + width)
    hidden, out, direct = network
    smallest[:] = 0.0
    largest[:] = 0.0
    total = 0.0
    for f in range(hidden.shape[0]):
        a, b = low[f], high[f]
        if a == 0.0 and b == 0.0:
            continue
        total += max(direct[f] * a, direct[f] * b)
        for h in range(hidden.shape[1]):
            x, y = hidden[f, h] * a, hidden[f, h] * b
            smallest[h] += min(x, y)
            largest[h] += max(x, y)
    for h in range(hidden.shape[1]):
        total += out[h] * max(0.0, largest[h] if out[h] > 0.0 else smallest[h])
    return total
