"""An exact search for the most probable links where logits have a structural term.

Nodes of like degree that lie close together make a block. For two blocks there is an upper bound of
the logits between them: of the distance by the triangle inequality, and of the structural term by
the degrees (``structure_bounds.py``). ``structured_search.py`` looks at the pairs of the blocks that
may still have one of the best.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.inference import missing_links
from hgcn.inference.missing_links import Heaps
from hgcn.models.predictor import Predictor
from hgcn.nn.structure import both_ways, pair_facts

SIZE = 128
"""Number of nodes in a block."""
LEAVES, MOST_HUBS = 256, 16
"""Leaves of one node make a class of their own if there are so many, for so many nodes."""
PRODUCT, FOUND = 1 << 18, 1 << 24
"""Number of products that a tile of heights takes, and of positions kept for its rows, at most."""
SECONDS = 1.0
"""About how long one call of compiled code is to take; Ctrl-C acts in between."""


def likely_pairs(
    predictor: Predictor, z: Tensor, graph: Graph, k: int, *, per_node: bool = False
) -> Tensor:
    """The pairs ``[2, M]`` of nodes without an edge that are most probably linked, in order.

    Args:
        predictor: the network, with a structural term.
        z: embeddings of all nodes, in normal coordinates.
        graph: the graph.
        k: number of pairs.
        per_node: k pairs for each node, rather than in all.
    """
    missing_links.check(z, k)
    form = missing_links.search_form(predictor.encoder.space, z)
    if form is None or graph.num_nodes == 0:
        return _plain(predictor, z, graph, k, per_node)
    heaps = missing_links.empty_heaps(graph, k, per_node)
    _search(predictor, z, form, graph, heaps, per_node)
    return torch.from_numpy(missing_links.collect(heaps, per_node)[0])


def _plain(predictor: Predictor, z: Tensor, graph: Graph, k: int, per_node: bool) -> Tensor:
    """The same for a space that the compiled search does not know, by all pairs."""
    from hgcn.inference.structured_search import QUANTUM

    space, z = predictor.encoder.space, z.detach().cpu().double()
    r, t = (x.detach().cpu().double() for x in (predictor.decoder.r, predictor.decoder.t))
    hidden, out, direct = (
        getattr(predictor.structure, name).weight.detach().cpu().double().T
        for name in ("hidden", "out", "direct")
    )

    def height(pairs: Tensor) -> Tensor:
        facts = pair_facts(pairs, graph.edge_index, graph.edge_weight, graph.num_nodes)
        term = (facts @ hidden).relu() @ out + facts @ direct
        logits = (r - space.squared_distance(*z[pairs])) / t + term[:, 0]
        return -torch.floor(logits / QUANTUM + 0.5)

    return missing_links.search_in_blocks(height, graph, k, per_node=per_node)[0]


def _search(
    predictor: Predictor,
    z: Tensor,
    form: tuple[np.ndarray, np.ndarray],
    graph: Graph,
    heaps: Heaps,
    per_node: bool,
) -> None:
    """Fill heaps with the best pairs, some blocks at a time."""
    from hgcn.compiled import follow_torch  # Numba takes a while to import
    from hgcn.inference import structure_bounds as bounds_of
    from hgcn.inference import structure_visit, structured_search

    n, directed = graph.num_nodes, graph.directed
    term = predictor.structure
    if term is None:
        raise ValueError("Expected a network with a structural term, got one without.")
    near, weight = both_ways(graph.edge_index, graph.edge_weight, n)
    counted = near.by_target.start, near.by_target.other, weight.numpy()
    strength = np.bincount(near.target.numpy(), counted[2], n)
    strength = np.maximum(strength, np.finfo(np.float64).tiny)
    scale, ways = np.empty(n), np.empty(n)
    bounds_of.fill_scale(counted[0], counted[1], scale, ways)
    kind, hubs = _classes(counted[0], counted[1])
    facts = _facts_of_classes(kind, counted, strength, scale, ways)
    network = bounds_of.network_of(term)
    bounds = _bounds(facts, network, hubs)

    curvature = next(iter(predictor.encoder.space.curvatures), 0.0)
    decoder = float(predictor.decoder.r), float(predictor.decoder.t), curvature
    order, first = _blocks(missing_links.groups(graph), kind, z.detach().cpu().double().numpy())
    points = (
        form[0][order], form[1][order], order, *_factors(form, order, curvature), kind[order]
    )  # fmt: skip
    # A larger product of matrices would be divided among threads, which the search has already.
    together = max(1, min(SIZE, PRODUCT // (SIZE * points[3].shape[1]), FOUND // n))
    blocks = _describe(points, first, kind, missing_links.groups(graph), curvature)
    rows = _moved(order, counted, strength)
    costs = np.empty((n, structure_visit.BEYOND + 1), np.int64)
    follow_torch()
    chunks = np.linspace(0, n, min(n, 16) + 1).astype(np.int64)
    structure_visit.fill_costs(rows[0], rows[1], chunks, costs)

    edges, ways = missing_links.sorted_neighbours(graph), ways[order]
    workers = min(torch.get_num_threads(), len(heaps[0]))
    low, step, count, floor = 0, 1, len(first) - 1, (-np.inf, 0, 0)
    while low < count:
        high, begin = min(count, low + step * workers), time.perf_counter()
        structured_search.search_blocks(
            (low, high, workers, together), points, blocks, rows, costs, ways, (*counted, strength), network,
            decoder, edges, bounds, (per_node or directed, per_node), floor, heaps,
        )  # fmt: skip
        low, floor = high, floor if per_node else _floor(heaps)
        if time.perf_counter() - begin < SECONDS:
            step *= 2
        else:
            step = max(1, step // 2)


def _floor(heaps: Heaps) -> tuple[float, int, int]:
    """The last one of the best pairs of all heaps, if there are enough of them."""
    pairs, height = missing_links.collect(heaps, per_node=False)
    if len(height) < heaps[0].shape[1]:
        return -np.inf, 0, 0
    return -float(height[-1]), int(pairs[0, -1]), int(pairs[1, -1])


def _classes(start: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class of each node, in the order of degrees, and which classes share a neighbour."""
    degree = np.diff(start)
    # 0, 1, ..., 8, and then steps by a quarter.
    level = np.where(degree <= 8, degree, 9 + np.log(np.maximum(degree, 9) / 9) // np.log(1.25))
    leaf = np.flatnonzero(degree == 1)
    hub, leaves = np.unique(other[start[leaf]], return_counts=True)
    hub = hub[np.argsort(-leaves, kind="stable")][: min(MOST_HUBS, (leaves >= LEAVES).sum())]
    place = np.zeros(len(degree), np.int64)
    place[hub] = np.arange(1, len(hub) + 1)
    part = np.zeros(len(degree), np.int64)
    part[leaf] = place[other[start[leaf]]]
    known, kind = np.unique(level.astype(np.int64) * (MOST_HUBS + 1) + part, return_inverse=True)
    return kind.reshape(-1), known % (MOST_HUBS + 1) > 0


def _facts_of_classes(
    kind: np.ndarray,
    counted: tuple[np.ndarray, np.ndarray, np.ndarray],
    strength: np.ndarray,
    scale: np.ndarray,
    ways: np.ndarray,
) -> np.ndarray:
    """What ``structure_bounds`` asks of each class of nodes."""
    start, other, weight = counted
    degree, count = np.diff(start).astype(float), int(kind.max()) + 1
    node = np.repeat(np.arange(len(kind)), np.diff(start))
    lightest, heaviest = np.full(len(kind), np.inf), np.zeros(len(kind))
    np.minimum.at(lightest, node, weight)
    np.maximum.at(heaviest, node, weight)
    facts = np.zeros((count, 8))
    facts[:, [0, 2, 6]] = np.inf
    for column, at, values in (
        (0, kind, degree),
        (2, kind[node], degree[other]),
        (6, kind[node], (weight + lightest[other]) / (2.0 * strength[other])),
    ):
        np.minimum.at(facts[:, column], at, values)
    for column, at, values in (
        (1, kind, degree),
        (3, kind[node], degree[other]),
        (4, kind, scale),
        (5, kind, ways),
        (7, kind[node], (weight + heaviest[other]) / (2.0 * strength[other])),
    ):
        np.maximum.at(facts[:, column], at, values)
    return facts


def _bounds(
    facts: np.ndarray, network: tuple[np.ndarray, np.ndarray, np.ndarray], hubs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest term of pairs of classes: of any pair, without common neighbours, farther."""
    from hgcn.inference.structure_bounds import fill_bounds

    near, far = np.empty((2, len(facts), len(facts))), np.empty((len(facts), len(facts)))
    fill_bounds(facts, network, near, far)
    without = np.maximum(near[1], far)
    largest = np.maximum(near[0], without)
    own = np.flatnonzero(hubs)  # any two of these have a common neighbour
    largest[own, own] = without[own, own] = near[0][own, own]
    return largest, without, far


def _blocks(group: np.ndarray, kind: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in the order of their blocks, and the first position of each block and the end."""
    order = np.lexsort((np.arange(len(kind)), kind, group))
    changes = np.flatnonzero(np.diff(group[order]) | np.diff(kind[order])) + 1
    todo = list(np.split(order, changes))[::-1]
    made = []
    while todo:
        nodes = todo.pop()
        if len(nodes) <= SIZE:
            made.append(nodes)
            continue
        here = z[nodes]
        # Stable, so that equal points stay in the order of their numbers.
        nodes = nodes[np.argsort(here[:, np.ptp(here, axis=0).argmax()], kind="stable")]
        todo += [nodes[len(nodes) // 2 :], nodes[: len(nodes) // 2]]
    sizes = np.array([len(nodes) for nodes in made])
    return np.concatenate([np.sort(nodes) for nodes in made]), np.r_[0, sizes.cumsum()]


def _factors(
    form: tuple[np.ndarray, np.ndarray], order: np.ndarray, curvature: float
) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices whose product is just below all heights, plus one half in hyperbolic space.

    On the hyperboloid a height is ``(-<x, y> - 1)/2``. The last column allows for rounding.
    """
    unit, radial = form[0][order], form[1][order]
    if curvature:
        x, size = unit * radial[:, 1:2], np.sqrt(1 + radial[:, 1:2] ** 2)
        left, right = (x, size), (-0.5 * x, 0.5 * size)
    else:
        x, square = unit, (unit**2).sum(1, keepdims=True)
        left, right = (x, square, np.ones_like(square)), (-2 * x, np.ones_like(square), square)
        size = 1 + square
    one, two = np.hstack((*left, size)), np.hstack((*right, -1e-12 * size))
    return one, two


def _describe(
    points: tuple[np.ndarray, ...],
    first: np.ndarray,
    kind: np.ndarray,
    group: np.ndarray,
    curvature: float,
) -> tuple[np.ndarray, ...]:
    """What ``structured_search`` asks of blocks."""
    from hgcn.inference.structured_search import fill_radii

    order, sizes = points[2], np.diff(first)
    number = np.repeat(np.arange(len(sizes)), sizes)
    # The point with the median of the lengths will do as a centre.
    central = np.lexsort((points[1][:, 0], number))[first[:-1] + sizes // 2]
    radius = np.empty(len(sizes))
    fill_radii(points, first, central, curvature, radius)
    own = group[order[first[:-1]]]
    span = np.stack((np.searchsorted(own, own), np.searchsorted(own, own, "right")), axis=1)
    smallest = np.minimum.reduceat(order, first[:-1])
    return first, central, radius, kind[order[first[:-1]]], smallest, np.ascontiguousarray(span)


def _moved(
    order: np.ndarray, counted: tuple[np.ndarray, np.ndarray, np.ndarray], strength: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The neighbours of each position, as positions."""
    start, other, weight = counted
    degree = np.diff(start)[order]
    first = np.r_[0, degree.cumsum()]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    edge = np.arange(len(other)) + np.repeat(start[order] - first[:-1], degree)
    return first, place[other[edge]], weight[edge], strength[order]
