"""A trained run applied: scores on other graphs, and the links that are most probably missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.errors import GraphError, RunError
from hgcn.geometry.normal import saturate

if TYPE_CHECKING:
    from hgcn.runs.run import Run

TEST_SHARE = 0.10
BLOCK = 200_000_000
"""Pairs that are searched in one go, some seconds; Ctrl-C acts in between."""


def evaluate_on(run: Run, graph: Graph) -> dict[str, float]:
    """Scores of a run on a graph, all of which is a test.

    Node classification: all labelled nodes. Link prediction: a tenth of the edges is hidden and
    predicted from the others, among as many pairs without an edge; which ones depends on the seed
    of the run's split. Of many graphs, a tenth of the edges of each is hidden.
    """
    if run.config.task == "node":
        return _evaluate_nodes(run, graph)
    from hgcn.data.splits.draw import split_links
    from hgcn.training.tasks import LinkTask

    seed = run.config.split_seed or 0
    if graph.num_graphs > 1:
        graph = graph.replace(split={"test": torch.arange(graph.num_nodes)})
    split = split_links(graph, val=0.0, test=TEST_SHARE, seed=seed)
    x = run.features(graph, split.test.messages)
    return LinkTask(x, split, run.predictor.eval(), run.config).metrics("test")


def _evaluate_nodes(run: Run, graph: Graph) -> dict[str, float]:
    from hgcn.training.metrics import node_metrics

    y = known_classes(run, graph)
    labelled = (y >= 0).nonzero()[:, 0]
    if not len(labelled):
        raise GraphError("Expected at least one labelled node to evaluate on, got none.")
    return node_metrics(run.predict_nodes(graph)[labelled], y[labelled])


def known_classes(run: Run, graph: Graph) -> Tensor:
    """The class of each node of a graph, with the numbers that the run has for them."""
    if graph.y is None:
        raise GraphError(
            "Expected a graph with labels to evaluate on, got one without. Give them with `labels`."
        )
    known, used = run.class_names, torch.unique(graph.y[graph.y >= 0])
    if known is None or graph.class_names is None:
        count = run.predictor.num_classes
        if len(used) and int(used[-1]) >= count:
            raise GraphError(
                f"Expected classes 0..{count - 1}, as the run was trained on, got {int(used[-1])}."
            )
        return graph.y
    unknown = [graph.class_names[k] for k in used.tolist() if graph.class_names[k] not in known]
    if unknown:
        raise GraphError(
            f"Expected classes among {_listed(known)}, as the run was trained on, got "
            f"{_listed(unknown)}."
        )
    number = torch.tensor([known.index(n) if n in known else -1 for n in graph.class_names] + [-1])
    return number[graph.y]  # -1, unknown, is the last entry


def _listed(names: Any) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


@torch.no_grad()
def top_links(
    run: Run, k: int, graph: Any = None, *, per_node: bool = False
) -> tuple[Tensor, Tensor]:
    """The most probable links that the graph has not.

    The search is exact. It looks at all pairs of nodes of the same graph, a block at a time, and
    keeps only the best: memory is O(k), or O(nodes k) with ``per_node``. Pairs with equal
    probability are ordered by their nodes.

    Example:
        >>> import hgcn
        >>> run = hgcn.fit("disease", task="link", epochs=5, dim=4)
        >>> pairs, probability = top_links(run, 10)
        >>> pairs.shape, probability.shape
        (torch.Size([2, 10]), torch.Size([10]))

    Args:
        run: a trained run.
        k: how many links.
        graph: another graph than the run's own; see :meth:`hgcn.runs.run.Run.embeddings`.
        per_node: k links of each node, listed node by node, rather than k of the whole graph. A
            pair may then be listed twice, once at each of its nodes.

    Returns:
        Pairs ``[2, M]`` of nodes numbered from 0, and their probabilities ``[M]``, best first. An
        undirected pair has its smaller node first, but with ``per_node`` the node that asks. There
        are fewer than asked for if there are no more pairs without an edge.
    """
    graph = run.resolve(graph)
    z = run.embeddings(graph)
    curvature, decoder = run.predictor.encoder.curvature, run.predictor.decoder
    c = None if curvature is None else float(curvature())
    pairs, squared_distance = closest_pairs(z, graph, k, c=c, per_node=per_node)
    logits = decoder(squared_distance.to(decoder.start))
    return pairs, logits.sigmoid().cpu()


def closest_pairs(
    z: Tensor, graph: Graph, k: int, *, c: float | None, per_node: bool = False
) -> tuple[Tensor, Tensor]:
    """The closest pairs of nodes without an edge, and their squared distances.

    Args:
        z: embeddings ``[N, d]``.
        graph: whose edges, self-loops and pairs of nodes in different graphs are left out.
        k: how many pairs.
        c: ``z`` are normal coordinates in curvature ``-c``; ``None`` for Euclidean vectors.
        per_node: k pairs for each node, rather than in all.
    """
    from hgcn.compiled import follow_torch  # Numba takes a while to import
    from hgcn.inference.pair_search import search

    n = graph.num_nodes
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise GraphError(f"Expected `k` to be a whole number of at least 1, got {k!r}.")
    if not bool(z.isfinite().all()):
        raise RunError("Expected finite embeddings, got some that are not.")
    both_ways = per_node or graph.directed
    nodes = (*_places(z, c), _groups(graph))
    edges = _sorted_neighbours(graph)
    # At least one place: an empty heap has no top.
    k = max(1, min(k, n - 1 if per_node else n * (n - 1) // (1 if both_ways else 2)))
    count = n if per_node else min(n, torch.get_num_threads())
    heaps = np.empty((count, k)), np.empty((count, k, 2), np.int64), np.zeros(count, np.int64)
    rows = max(1, BLOCK // n)
    follow_torch()
    for low in range(0, n, rows):
        search(nodes, edges, (low, min(n, low + rows)), both_ways, per_node, heaps)
    return _collect(heaps, k, per_node, c)


def _places(z: Tensor, c: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Directions and radii as the search wants them."""
    from hgcn.inference.pair_search import FLAT

    v = z.detach().cpu().double().contiguous()
    if c is None:
        return v.numpy(), np.tile(FLAT, (len(v), 1))
    _, rho = saturate(v, torch.tensor(c**0.5, dtype=v.dtype))
    length = v.norm(dim=1, keepdim=True)
    unit = v / torch.where(length > 0, length, 1.0)
    at = torch.stack((rho, rho.sinh(), (rho / 2).exp(), (-rho / 2).exp()), dim=1)
    return unit.numpy(), at.numpy()


def _groups(graph: Graph) -> np.ndarray:
    if graph.graph_ids is None:
        return np.zeros(graph.num_nodes, np.int64)
    return graph.graph_ids.numpy()


def _sorted_neighbours(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    n = graph.num_nodes
    source, target = graph.edge_index.numpy()
    key = np.sort(source * n + target)
    return np.searchsorted(key, np.arange(n + 1) * n), key % n


def _collect(
    heaps: tuple[np.ndarray, np.ndarray, np.ndarray], k: int, per_node: bool, c: float | None
) -> tuple[Tensor, Tensor]:
    """The pairs of all heaps in order, and their squared distances."""
    filled = np.arange(k) < heaps[2][:, None]
    height, ends = heaps[0][filled], heaps[1][filled]
    if per_node:
        order = np.lexsort((ends[:, 1], height, ends[:, 0]))
    else:
        order = np.lexsort((ends[:, 1], ends[:, 0], height))[:k]
    height, pairs = height[order], np.ascontiguousarray(ends[order].T)
    if c is not None:
        height = 4 / c * np.arcsinh(np.sqrt(height)) ** 2
    return torch.from_numpy(pairs), torch.from_numpy(height)
