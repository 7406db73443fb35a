"""Negatives whose nodes have the degrees of the positives, so that degrees tell nothing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hgcn.data.pairs import Ints, distinct, find, keys

EXACT = 8
"""Draws among the nodes of exactly the same degrees, before others are taken too."""
SLOW = 8
"""How much slower the choice widens for the end of the higher degree: there are few such nodes."""
MORE = 32
"""Draws among all nodes of the graph, before a positive is left without a negative."""


def same_degree_negatives(
    positives: Tensor,
    visible: Tensor,
    known: Tensor,
    num_nodes: int,
    *,
    seed: int,
    graph_ids: Tensor | None = None,
) -> Tensor:
    """For each positive a pair without an edge whose nodes have the same degrees.

    A degree is the number of different neighbours on the visible edges, whatever their direction.
    Each end is drawn, evenly, among the nodes of the same graph that have its degree. A draw that
    is an edge, in either direction, or a node and itself, is drawn again. After ``EXACT`` of these
    the nodes next in the order of degrees are drawn from too, twice as many each time, and for the
    end of the higher degree an eighth of that, until all nodes of the graph are; after ``MORE``
    draws from all there is no negative for that positive.

    Args:
        positives: pairs of nodes ``[2, M]``.
        visible: the edges that degrees are counted on, ``[2, E]``.
        known: the edges that must not be drawn, ``[2, K]``.
        num_nodes: number of nodes.
        seed: equal seeds give equal negatives.
        graph_ids: the graph of each node, where there are many.

    Returns:
        Pairs ``[2, M]`` at most; several positives may have the same.
    """
    asked = positives.cpu().numpy()
    generator = np.random.default_rng([seed, positives.shape[1]])
    edges = distinct(keys(known.cpu().numpy(), num_nodes, unordered=True))
    order, low, high, bounds = _classes(visible.cpu().numpy(), num_nodes, graph_ids, generator)
    low, high, first, last = low[asked], high[asked], bounds[0][asked], bounds[1][asked]
    result = np.full(asked.shape, -1)
    left = np.arange(asked.shape[1])
    slow = np.where(low >= low[::-1], SLOW, 1)
    width, more = 0, 0
    while len(left) and more < MORE + EXACT:
        wider = width // slow[:, left]
        bottom = np.maximum(low[:, left] - wider, first[:, left])
        top = np.minimum(high[:, left] + wider, last[:, left])
        drawn = order[bottom + (generator.random(bottom.shape) * (top - bottom)).astype(np.int64)]
        wrong = find(edges, keys(drawn, num_nodes, unordered=True))[1] | (drawn[0] == drawn[1])
        result[:, left[~wrong]] = drawn[:, ~wrong]
        left = left[wrong]
        steady = (width == 0 and more < EXACT - 1) or width >= SLOW * num_nodes
        width, more = (width, more + 1) if steady else (2 * width + 1, EXACT)
    return torch.from_numpy(np.ascontiguousarray(result[:, result[0] >= 0]))


def _classes(
    visible: Ints, num_nodes: int, graph_ids: Tensor | None, generator: np.random.Generator
) -> tuple[Ints, Ints, Ints, tuple[Ints, Ints]]:
    """Nodes by graph and degree, and for each node the bounds of its degree and of its graph."""
    edges = distinct(keys(visible[:, visible[0] != visible[1]], num_nodes, unordered=True))
    degree = np.bincount(np.concatenate(np.divmod(edges, num_nodes)), minlength=num_nodes)
    graph = np.zeros(num_nodes, np.int64) if graph_ids is None else graph_ids.cpu().numpy()
    # Among nodes of equal degree the order is random: those beside a degree are no special ones.
    order = np.lexsort((generator.permutation(num_nodes), degree, graph))
    label = graph * (int(degree.max(initial=0)) + 1) + degree
    ordered, graphs = label[order], graph[order]
    low, high = (np.searchsorted(ordered, label, side=side) for side in ("left", "right"))
    bounds = (np.searchsorted(graphs, graph), np.searchsorted(graphs, graph, side="right"))
    return order, low, high, bounds
