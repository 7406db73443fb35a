"""How well distances between embeddings agree with distances in the graph."""

from __future__ import annotations

import random

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from hgcn.data.graph import Graph
from hgcn.runs.run import Run

SOURCES = 64
"""Nodes from which distances to all others are measured."""


def distortion(run: Run, graph: Graph, *, generator: random.Random) -> tuple[float, float]:
    """Average and worst relative error of distances against graph distances.

    Embeddings are first scaled by the factor that makes the average error of the sampled distances
    smallest: the unit of length of an embedding means nothing. Pairs of one component count.
    """
    chosen = sorted(generator.sample(range(graph.num_nodes), min(SOURCES, graph.num_nodes)))
    source, target = graph.edge_index.numpy()
    ones = np.ones(len(source), np.float32)
    adjacency = csr_matrix((ones, (source, target)), shape=(graph.num_nodes, graph.num_nodes))
    hops = shortest_path(adjacency, directed=False, unweighted=True, indices=chosen)
    from_, to = np.nonzero(np.isfinite(hops) & (hops > 0))
    if not len(from_):
        return 0.0, 0.0
    z = run.embeddings(graph).double()
    pairs = torch.from_numpy(np.stack((np.asarray(chosen)[from_], to)))
    ratio = _distances(run, z, pairs).numpy() / hops[from_, to]
    scale = _best_scale(ratio)
    error = np.abs(scale * ratio - 1)
    return float(error.mean()), float(error.max())


@torch.no_grad()
def _distances(
    run: Run, z: torch.Tensor, pairs: torch.Tensor, block: int = 1 << 18
) -> torch.Tensor:
    blocks = [
        run.predictor.encoder.squared_distance(z[some[0]], z[some[1]]).clamp_min(0).sqrt()
        for some in pairs.split(block, dim=1)  # type: ignore[no-untyped-call]
    ]
    return torch.cat(blocks)


def _best_scale(ratio: np.ndarray) -> float:
    """The s that minimises the sum of abs(s ratio - 1): a weighted median of 1/ratio."""
    positive = np.sort(ratio[ratio > 0])[::-1]
    if not len(positive):
        return 1.0
    position = np.searchsorted(np.cumsum(positive), positive.sum() / 2)
    return float(1 / positive[min(position, len(positive) - 1)])
