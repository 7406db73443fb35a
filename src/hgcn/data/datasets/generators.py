"""Graphs made to order: trees, scale-free graphs, and graphs that come from hyperbolic space.

All are undirected. Those that draw at random take a ``seed``, and use no global state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from hgcn.data.clean import clean_edges
from hgcn.data.graph import Graph
from hgcn.data.pairs import keys
from hgcn.errors import GraphError

BLOCK = 10_000  # so many points are matched with their neighbours at a time, to bound memory


def balanced_tree(branching: int = 3, depth: int = 5) -> Graph:
    """The tree in which each node above the last level has the same number of children.

    Nodes are numbered breadth first from the root. Columns: ``depth`` and ``parent`` (-1 at the
    root).

    Example:
        >>> balanced_tree(branching=2, depth=3)
        Graph('balanced_tree': 15 nodes, 14 edges)
    """
    _at_least("branching", branching, 1)
    _at_least("depth", depth, 0)
    levels = np.array([branching**level for level in range(depth + 1)])
    parent = (np.arange(levels.sum()) - 1) // branching
    return _tree(parent, "balanced_tree", depth=np.repeat(np.arange(depth + 1), levels))


def random_tree(nodes: int = 1000, *, preferential: bool = False, seed: int = 0) -> Graph:
    """A tree grown node by node.

    Each new node is attached to an earlier one: to any of them alike (a random recursive tree), or,
    if ``preferential``, with a chance proportional to the degree. Column: ``parent`` (-1 at the
    root).

    Example:
        >>> random_tree(100, seed=1)
        Graph('random_tree': 100 nodes, 99 edges)
    """
    _at_least("nodes", nodes, 1)
    random = np.random.default_rng(seed)
    if preferential and nodes > 1:
        parent = np.concatenate(([-1], _preferential(nodes, 1, random)[:, 0]))
    else:
        later = np.arange(1, nodes)
        parent = np.concatenate(([-1], (random.random(nodes - 1) * later).astype(np.int64)))
    return _tree(parent, "random_tree")


def barabasi_albert(nodes: int = 1000, edges_per_node: int = 2, *, seed: int = 0) -> Graph:
    """The scale-free graph of Barabási and Albert (1999); degrees fall off with the exponent 3.

    It starts with a star of ``edges_per_node + 1`` nodes. Each further node is attached to
    ``edges_per_node`` different ones, each chosen with a chance proportional to its degree.

    Example:
        >>> barabasi_albert(100, 2, seed=1)
        Graph('barabasi_albert': 100 nodes, 196 edges)
    """
    _at_least("edges_per_node", edges_per_node, 1)
    _at_least("nodes", nodes, edges_per_node + 1)
    pairs = _preferential(nodes, edges_per_node, np.random.default_rng(seed))
    return _undirected(pairs[:, 0], pairs[:, 1], num_nodes=nodes, name="barabasi_albert")


def hyperbolic_random(
    nodes: int = 1000, *, degree: float = 10.0, gamma: float = 2.5, seed: int = 0
) -> Graph:
    r"""Random points of the hyperbolic plane, joined where they are near (Krioukov et al., 2010).

    Points lie in a disk of radius :math:`R`, their angles uniform and their radii with density
    proportional to :math:`\sinh(\alpha r)`, :math:`\alpha = (\gamma - 1)/2`. Two are joined if
    their distance is at most :math:`R`. Degrees then follow a power law with exponent
    :math:`\gamma`, and there are many triangles.

    No list of all pairs is made: time and memory grow with the number of edges.

    Example:
        >>> graph = hyperbolic_random(500, degree=6, seed=1)
        >>> sorted(graph.columns)
        ['angle', 'radius']

    Args:
        nodes: number of points.
        degree: expected mean degree, at most half of the nodes; :math:`R` is chosen for it.
        gamma: exponent of the degrees, more than 2 and at most 10.
        seed: seed of the points.
    """
    _at_least("nodes", nodes, 2)
    if not 2 < gamma <= 10:
        raise GraphError(f"Expected `gamma` to be more than 2 and at most 10, got {gamma}.")
    if not 0 < degree <= (nodes - 1) / 2:
        raise GraphError(
            f"Expected `degree` to be more than 0 and at most {(nodes - 1) / 2:g}, half of what "
            f"{nodes} nodes allow, got {degree}."
        )
    alpha = (gamma - 1) / 2
    disk = _disk_radius(degree / (nodes - 1), alpha)
    random = np.random.default_rng(seed)
    angle = 2 * np.pi * random.random(nodes)
    radius = _radius_at(random.random(nodes), alpha, disk)
    found = list(_near(radius, angle, disk))
    source, target = (np.concatenate(ends) for ends in zip(*found, strict=True))
    columns = {"radius": radius, "angle": angle}
    return _undirected(source, target, num_nodes=nodes, columns=columns, name="hyperbolic_random")


def tree_with_features(
    gamma: float, *, branching: int = 3, depth: int = 6, features: int = 16, seed: int = 0
) -> Graph:
    r"""A balanced tree whose features are handed down.

    The root's features are standard normal numbers, and
    :math:`x_\mathrm{child} = \gamma x_\mathrm{parent} + \sqrt{1 - \gamma^2}\, z` with new ones
    :math:`z`. So all features are standard normal, and those of two nodes :math:`k` edges apart
    have the correlation :math:`\gamma^k`. With 0 the features tell nothing, and only the structure
    helps to predict links; with 1 all nodes are alike.

    Example:
        >>> tree_with_features(0.8, depth=3, seed=1)
        Graph('tree_with_features': 40 nodes, 39 edges, 16 features)
    """
    if not 0 <= gamma <= 1:
        raise GraphError(f"Expected `gamma` to be in 0..1, got {gamma}.")
    _at_least("features", features, 1)
    tree = balanced_tree(branching, depth)
    parent, level = tree.columns["parent"], tree.columns["depth"]
    x = np.random.default_rng(seed).standard_normal((tree.num_nodes, features))
    for step in range(1, depth + 1):
        own = level == step
        x[own] = gamma * x[parent[own]] + math.sqrt(1 - gamma**2) * x[own]
    return tree.replace(x=torch.from_numpy(x.astype(np.float32)), name="tree_with_features")


def _at_least(name: str, value: int, low: int) -> None:
    if value < low:
        raise GraphError(f"Expected `{name}` to be at least {low}, got {value}.")


def _undirected(source: np.ndarray, target: np.ndarray, num_nodes: int, **fields: Any) -> Graph:
    edges = clean_edges(source, target, None, num_nodes=num_nodes, directed=False)[0]
    return Graph(edges, num_nodes=num_nodes, **fields)


def _tree(parent: np.ndarray, name: str, **columns: np.ndarray) -> Graph:
    child = np.arange(1, len(parent))
    columns["parent"] = parent
    return _undirected(parent[1:], child, num_nodes=len(parent), columns=columns, name=name)


def _preferential(nodes: int, each: int, random: np.random.Generator) -> np.ndarray:
    """Edges (earlier node, new node) of preferential attachment, from a star of each + 1 nodes.

    An end of an edge drawn uniformly is a node drawn in proportion to its degree (Batagelj and
    Brandes, 2005). An end is kept as the position of an earlier end that it repeats; following
    these, all at once and in doubling steps, finds the nodes.
    """
    star = np.stack((np.zeros(each, np.int64), np.arange(1, each + 1)), axis=1)
    new = np.repeat(np.arange(each + 1, nodes), each)
    if not len(new):
        return star
    before = 2 * each * (new - each)  # ends of the edges of all earlier nodes
    count = len(star) + len(new)
    node = np.full(2 * count, -1)
    node[: 2 * each] = star.ravel()
    drawn = 2 * np.arange(each, count)  # positions of the drawn ends; the new node is next to each
    node[drawn + 1] = new
    repeated = np.arange(2 * count)
    again = np.ones(len(new), dtype=bool)
    while again.any():
        repeated[drawn[again]] = (random.random(again.sum()) * before[again]).astype(np.int64)
        root = repeated
        while (node[root] < 0).any():
            root = root[root]
        target = node[root[drawn]]
        # Of equal targets of one node the first stays and the others are drawn again.
        first = np.unique(keys((new, target), nodes), return_index=True)[1]
        again[:] = True
        again[first] = False
    return np.concatenate((star, np.stack((target, new), axis=1)))


def _radius_at(share: np.ndarray, alpha: float, disk: float) -> np.ndarray:
    """The radius below which a share of the points lies."""
    return np.arccosh(1 + share * (math.cosh(alpha * disk) - 1)) / alpha


def _reach(radius: np.ndarray, other: np.ndarray | float, disk: float) -> np.ndarray:
    """The largest angle between two joined points of these radii; it falls as a radius grows."""
    around = math.sinh(disk / 2) ** 2 - np.sinh((radius - other) / 2) ** 2
    product = np.sinh(radius) * np.sinh(other)
    square = np.divide(around, product, out=np.ones_like(product), where=product > around)
    return 2 * np.arcsin(np.sqrt(np.maximum(square, 0)))


def _disk_radius(chance: float, alpha: float) -> float:
    """The radius of the disk for which two points are joined with a given chance."""
    excess = alpha / (alpha - 0.5)
    # The limit for large disks (Krioukov et al., Eq. 22) is an upper bound.
    low, high = 0.0, 5 + 2 * math.log(2 / math.pi * excess**2 / chance)
    for _ in range(40):
        disk = (low + high) / 2
        rim = np.linspace(0, disk, 201)
        share = np.diff((np.cosh(alpha * rim) - 1) / (math.cosh(alpha * disk) - 1))
        radius = (rim[1:] + rim[:-1]) / 2
        mean = share @ _reach(radius[:, None], radius[None], disk) @ share / np.pi
        low, high = (disk, high) if mean > chance else (low, disk)
    return disk


def _near(
    radius: np.ndarray, angle: np.ndarray, disk: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of points at most ``disk`` apart, each once, some at a time.

    Points are taken in rings of width 1. For each point, those of a ring further out that may be
    near enough are an interval of angles, wide enough for the inner rim of the ring.
    """
    ring = radius.astype(np.int64)
    by_radius = np.argsort(radius, kind="stable")
    rank = np.argsort(by_radius)
    for number in np.unique(ring):
        members = np.flatnonzero(ring == number)
        members = members[np.argsort(angle[members])]
        # Twice around, so that an interval may cross the angle 0.
        turned = np.concatenate((angle[members], angle[members] + 2 * np.pi))
        rim = radius[members].min()
        inner = by_radius[: rank[members].max()]
        for some in np.array_split(inner, len(inner) // BLOCK + 1):
            reach = _reach(radius[some], rim, disk) + 1e-9
            start = (angle[some] - reach) % (2 * np.pi)
            first = np.searchsorted(turned, start)
            last = np.searchsorted(turned, start + 2 * reach, side="right")
            count = np.minimum(last - first, len(members))
            source = np.repeat(some, count)
            step = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
            target = members[(np.repeat(first, count) + step) % len(members)]
            near = (rank[source] < rank[target]) & _joined(source, target, radius, angle, disk)
            yield source[near], target[near]


def _joined(
    source: np.ndarray, target: np.ndarray, radius: np.ndarray, angle: np.ndarray, disk: float
) -> np.ndarray:
    # sinh^2 of half the distance, which does not cancel as the law of cosines does.
    across = np.sinh(radius[source]) * np.sinh(radius[target])
    turn = np.sin((angle[source] - angle[target]) / 2) ** 2
    half = np.sinh((radius[source] - radius[target]) / 2) ** 2 + across * turn
    return half <= math.sinh(disk / 2) ** 2
