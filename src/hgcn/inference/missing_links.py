"""Missing links: an exact search for the most probable ones among all pairs of nodes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from hgcn.data import pairs as node_pairs
from hgcn.data.graph import Graph
from hgcn.errors import GraphError, RunError
from hgcn.inference.predict import link_probabilities
from hgcn.inference.trained import Trained, embeddings
from hgcn.models.predictor import Predictor
from hgcn.nearest.forms import search_form, squared_distance_at
from hgcn.nn.spaces import Space

BLOCK = 200_000_000
"""Number of pairs that are searched in one call at most."""
SECONDS = 0.5
"""How long one call is to take at least, if there is so much to do; Ctrl-C acts in between."""
PLAIN_BLOCK = 1_000_000
"""The same for spaces that the compiled search does not know."""


@torch.no_grad()
def top_links(
    trained: Trained, k: int, graph: Graph, *, per_node: bool = False
) -> tuple[Tensor, Tensor]:
    """The most probable missing links: pairs of nodes without an edge.

    The search is exact. It looks at all pairs of nodes of the same graph, a block at a time, and
    keeps only the best: memory is O(nodes + edges + k), or O(edges + nodes k) with ``per_node``.
    Pairs are compared in double precision, and equal ones are ordered by their nodes. With a
    structural term, logits within a billionth of each other count as equal.

    Args:
        trained: a trained network.
        k: number of links.
        graph: the graph; pairs with an edge are left out.
        per_node: k links of each node, listed node by node, rather than k of the whole graph. A
            pair may then be listed twice, once at each of its nodes.

    Returns:
        Pairs ``[2, M]`` of nodes numbered from 0, and their probabilities ``[M]``, best first. An
        undirected pair has its smaller node first, but with ``per_node`` the node it is listed at.
        There are fewer than ``k`` if there are no more pairs without an edge.
    """
    predictor = trained.predictor
    z = embeddings(trained, graph)
    if predictor.structure is not None:
        pairs = likely_pairs(predictor, z, graph, k, per_node=per_node)
        chance = link_probabilities(trained, pairs, graph)
        # Probabilities are those of the model's own precision, which may swap two that are close.
        node = pairs[0].numpy() if per_node else np.zeros(pairs.shape[1])
        order = torch.from_numpy(np.lexsort((-chance.numpy(), node)))
        return pairs[:, order], chance[order]
    pairs, squared_distance = closest_pairs(
        z, graph, k, space=predictor.encoder.space, per_node=per_node
    )
    logits = predictor.decoder(squared_distance.to(predictor.decoder.start))
    return pairs, trained.calibration(logits).cpu()


def closest_pairs(
    z: Tensor, graph: Graph, k: int, *, space: Space, per_node: bool = False
) -> tuple[Tensor, Tensor]:
    """The closest pairs of nodes without an edge, and their squared distances.

    Args:
        z: embeddings ``[N, d]``.
        graph: the graph; pairs with an edge, and of nodes in different graphs, are left out.
        k: number of pairs.
        space: the space of the embeddings.
        per_node: k pairs for each node, rather than in all.
    """
    check(z, k)
    form = search_form(space, z)
    if form is None:
        z = z.detach().cpu().double()
        return search_in_blocks(
            lambda pairs: space.squared_distance(*z[pairs]), graph, k, per_node=per_node
        )
    pairs, height = search_compiled(form, graph, k, per_node=per_node)
    return torch.from_numpy(pairs), torch.from_numpy(squared_distance_at(space, height))


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
    check(z, k)
    form = search_form(predictor.encoder.space, z)
    if form is not None:
        return torch.from_numpy(
            search_compiled(form, graph, k, per_node=per_node, predictor=predictor)[0]
        )
    from hgcn.inference.pair_search import QUANTUM

    model, z = copy.deepcopy(predictor).cpu().double(), z.detach().cpu().double()

    def height(pairs: Tensor) -> Tensor:
        facts = model.facts(pairs, graph.edge_index, graph.edge_weight, graph.num_nodes)
        return -torch.floor(model.links(z, pairs, facts).detach() / QUANTUM + 0.5)

    return search_in_blocks(height, graph, k, per_node=per_node)[0]


def search_compiled(
    form: tuple[np.ndarray, np.ndarray],
    graph: Graph,
    k: int,
    *,
    per_node: bool,
    predictor: Predictor | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The best pairs in order, and the keys by which they are compared: without a network, heights.

    Args:
        form: points, as :func:`search_form` has them.
        graph, k, per_node: as in :func:`closest_pairs`.
        predictor: a network with a structural term, if links are compared by it.
    """
    from hgcn.inference.pair_scan import places_of  # Numba takes a while to import
    from hgcn.inference.pair_search import Pairs, search
    from hgcn.inference.structural_model import model_of, no_model
    from hgcn.inference.structural_rows import room_for

    n, term = graph.num_nodes, None if predictor is None else predictor.structure
    model, decoder, rows = no_model(n), (0.0, 1.0, 0.0), np.arange(n)
    if predictor is not None and term is not None:
        curvature = next(iter(predictor.encoder.space.curvatures), 0.0)
        decoder = float(predictor.decoder.r), float(predictor.decoder.t), curvature
        model = model_of(term, graph)
        # Nodes with many neighbours first: what they have raises the bar for all others.
        rows = np.argsort(-np.diff(model.start), kind="stable")
    both_ways = per_node or graph.directed
    places = places_of(form, groups(graph), model.kind, rows, both_ways)
    pairs = Pairs(
        *form, places, *sorted_neighbours(graph), *decoder, term is not None, both_ways
    )  # fmt: skip
    heaps, workers = empty_heaps(graph, k, per_node), min(n, torch.get_num_threads())
    rooms = [room_for(model) for _ in range(workers)]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        low, step = 0, workers
        while low < n:
            begin = time.perf_counter()
            floor = (np.inf, 0, 0) if per_node else last_of(heaps)
            jobs = [
                pool.submit(
                    search, rows[low + worker : low + step : workers].copy(), pairs, model, floor,
                    heaps, -1 if per_node else worker, room,
                )
                for worker, room in enumerate(rooms)
            ]  # fmt: skip
            for job in jobs:
                job.result()
            low += step
            step = 2 * step if time.perf_counter() - begin < SECONDS else step // 2
            step = max(1, min(step, BLOCK // n))
    return collect(heaps, per_node)


def last_of(heaps: Heaps) -> tuple[float, int, int]:
    """The last one of the best pairs of all heaps, if there are enough of them."""
    pairs, key = collect(heaps, per_node=False)
    if len(key) < heaps[0].shape[1]:
        return np.inf, 0, 0
    return float(key[-1]), int(pairs[0, -1]), int(pairs[1, -1])


def check(z: Tensor, k: int) -> None:
    """Refuse a number of links that is none, and embeddings that cannot be compared."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise GraphError(f"Expected `k` to be a whole number of at least 1, got {k!r}.")
    if not bool(z.isfinite().all()):
        raise RunError("Expected finite embeddings, got some that are not.")


Heaps = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Keys ``[heap, slot]``, nodes ``[heap, slot, 2]`` and sizes of heaps of pairs."""


def empty_heaps(graph: Graph, k: int, per_node: bool) -> Heaps:
    """Heaps for k pairs: one for each node, or one for each thread."""
    n = graph.num_nodes
    # At least one entry: an empty heap has no top.
    k = max(1, min(k, n - 1 if per_node else n * (n - 1) // (1 if graph.directed else 2)))
    count = n if per_node else min(n, torch.get_num_threads())
    return np.empty((count, k)), np.empty((count, k, 2), np.int64), np.zeros(count, np.int64)


def search_in_blocks(
    height_of: Callable[[Tensor], Tensor], graph: Graph, k: int, *, per_node: bool
) -> tuple[Tensor, Tensor]:
    """The pairs of smallest height in a space of any kind, some nodes at a time.

    Args:
        height_of: the number of each of the pairs ``[2, M]`` that is compared.
        graph, k, per_node: as in :func:`closest_pairs`.
    """
    n, group = graph.num_nodes, groups(graph)
    linked = np.sort(node_pairs.keys(graph.edge_index.numpy(), n))
    best = np.empty((2, 0), np.int64), np.empty(0)
    for low in range(0, n, max(1, PLAIN_BLOCK // n)):
        i, j = np.indices((min(n, low + max(1, PLAIN_BLOCK // n)) - low, n)).reshape(2, -1)
        i = i + low
        proper = (group[i] == group[j]) & (i != j if per_node or graph.directed else i < j)
        pairs = np.stack((i[proper], j[proper]))
        pairs = pairs[:, ~node_pairs.find(linked, node_pairs.keys(pairs, n))[1]]
        height = height_of(torch.from_numpy(pairs)).numpy()
        pairs, height = np.concatenate((best[0], pairs), 1), np.concatenate((best[1], height))
        order = np.lexsort((pairs[1], height, pairs[0]) if per_node else (*pairs[::-1], height))
        pairs, height = pairs[:, order], height[order]
        if per_node:  # the first k of each node
            first = np.searchsorted(pairs[0], pairs[0])
            keep = np.arange(len(height)) - first < k
        else:
            keep = np.arange(len(height)) < k
        best = pairs[:, keep], height[keep]
    return torch.from_numpy(np.ascontiguousarray(best[0])), torch.from_numpy(best[1])


def groups(graph: Graph) -> np.ndarray:
    """The graph that each node belongs to."""
    if graph.graph_ids is None:
        return np.zeros(graph.num_nodes, np.int64)
    return graph.graph_ids.numpy()


def sorted_neighbours(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The sorted neighbours of all nodes: the first position of each node, and the neighbours."""
    n = graph.num_nodes
    source, target = node_pairs.pairs_at(np.sort(node_pairs.keys(graph.edge_index.numpy(), n)), n)
    return np.searchsorted(source, np.arange(n + 1)), np.ascontiguousarray(target)


def collect(heaps: Heaps, per_node: bool) -> tuple[np.ndarray, np.ndarray]:
    """The first pairs of all heaps in order, and their keys."""
    k = heaps[0].shape[1]
    filled = np.arange(k) < heaps[2][:, None]
    key, ends = heaps[0][filled], heaps[1][filled]
    if per_node:
        order = np.lexsort((ends[:, 1], key, ends[:, 0]))
    else:
        order = np.lexsort((ends[:, 1], ends[:, 0], key))[:k]
    return np.ascontiguousarray(ends[order].T), key[order]
