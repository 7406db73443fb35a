"""Points of a hierarchy before training: each node one step farther out than a node above it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from hgcn import geometry

FARTHEST = 30.0
"""Steps are shorter in a deep hierarchy, so that all points are within this radius."""


def tree_start(
    pairs: Tensor, num_nodes: int, dim: int, *, step: float, root: float, generator: torch.Generator
) -> Tensor:
    """Points ``[N, dim]`` of a tree grown outwards from the origin, in random directions.

    From the nearest node above it each node is one step away, half outwards and half in a direction
    of its own. So subtrees are apart from the start, as they can be in hyperbolic space; from
    random points near the origin, points of a large hierarchy need most of a training to get there.

    Args:
        pairs: nodes and their known ancestors, a whole closure, ``[2, M]``: the nearest node above
            is the one that has most ancestors itself.
        num_nodes: number of nodes.
        dim: size of each point.
        step: the distance of a node from the one above it, in units of the curvature radius.
        root: the square root of c.
        generator: draws the directions.
    """
    below, above = pairs.numpy()
    high = np.bincount(below, minlength=num_nodes)
    order = np.argsort(high[above], kind="stable")
    parent = np.full(num_nodes, -1)
    parent[below[order]] = above[order]  # the last one counts
    levels = [np.flatnonzero(parent < 0)]
    level = np.full(num_nodes, -1)
    level[levels[0]] = 0
    for node in np.argsort(high, kind="stable"):  # a parent comes before its children
        if parent[node] >= 0:
            level[node] = level[parent[node]] + 1
    depth = int(level.max())
    step = min(step, FARTHEST / max(depth, 1)) / root
    way = normalize(torch.randn(num_nodes, dim, generator=generator, dtype=torch.float64), dim=1)
    # A root alone is at the origin; of several, each has a direction.
    z = way * (0.01 if len(levels[0]) == 1 else 1.0) / root
    for k in range(1, depth + 1):
        rows = np.flatnonzero(level == k)
        start = z[parent[rows]]
        out = normalize(normalize(start, dim=1) + way[rows], dim=1)
        z[rows] = geometry.translate(start, step * out, c=root**2)
    return z
