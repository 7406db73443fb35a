"""A drawing of a hierarchy in the plane: training in two dimensions and pictures start from it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

STEP = 0.7
"""The radius of a node for each edge between it and the root."""


def tree_layout(edges: Tensor, num_nodes: int) -> Tensor:
    """Points ``[N, 2]``: each node in the middle of an angle that is its own.

    A node shares its angle among its children by their leaves. Of several parents the first counts.
    In a plane points cannot pass each other, so training from random points stays in a tangle.

    Args:
        edges: children and parents, ``[2, E]``, without cycles.
        num_nodes: number of nodes.
    """
    parent = np.full(num_nodes, -1)
    for child, upper in edges.flip(1).T.tolist():
        parent[child] = upper
    below: list[list[int]] = [[] for _ in range(num_nodes)]
    for child in np.flatnonzero(parent >= 0).tolist():
        below[parent[child]].append(child)
    order, depth = np.flatnonzero(parent < 0).tolist(), np.zeros(num_nodes)
    for node in order:  # it grows while it is read
        depth[below[node]] = depth[node] + 1
        order.extend(below[node])
    leaves = np.array([float(not children) for children in below])
    for node in reversed(order):
        if parent[node] >= 0:
            leaves[parent[node]] += leaves[node]
    start, total = np.zeros(num_nodes), max(1.0, leaves[parent < 0].sum())
    at = 0.0
    for node in order:
        if parent[node] < 0:
            start[node], at = at, at + leaves[node]
        inside = start[node]
        for child in below[node]:
            start[child], inside = inside, inside + leaves[child]
    angle = 2 * np.pi * (start + leaves / 2) / total
    radius = STEP * depth + 0.01
    return torch.from_numpy(radius * np.stack((np.cos(angle), np.sin(angle)))).T.contiguous()
