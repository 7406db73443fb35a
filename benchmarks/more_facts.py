"""Prototypes of what links could read as well: distances to landmarks, and personalised PageRank.

    python benchmarks/more_facts.py landmarks --graphs power --seeds 2 --epochs 150
    python benchmarks/more_facts.py pagerank --graphs usair netscience --seeds 2

Prints what benchmarks/link_defaults.py prints with the same flags, which has the lines to compare
with. Neither is a part of hgcn: parts of it are replaced here, on the CPU, for full batches alone.

Landmarks are the sixteen nodes of the highest degree. Each node is told 1/(1 + d) for its distance
d to each of them, beside its degree, on the edges that are visible in a step. PageRank is that of
ten steps from the one node, with a chance of 0.15 to go back: what comes to the other node is a
fact of the pair, in both directions.
"""

from __future__ import annotations

import sys

import link_defaults
import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from hgcn.data.features import DEGREE_NAMES, degree_features
from hgcn.inference import feature_map
from hgcn.nn import structure
from hgcn.training import links

LANDMARKS = 16
STEPS, BACK = 10, 0.15
COLUMNS = 512
"""Nodes whose walks are held at a time."""


def landmarks() -> None:
    """Node features of distances to nodes of high degree."""
    chosen: dict[int, np.ndarray] = {}

    def features(edges: Tensor, nodes: int, *, directed: bool = False) -> Tensor:
        source, target = edges.numpy()
        ones = np.ones(len(source), np.float32)
        graph = scipy.sparse.csr_matrix((ones, (source, target)), shape=(nodes, nodes))
        if nodes not in chosen:  # the same in each step
            degree = np.bincount(target, minlength=nodes)
            chosen[nodes] = np.argsort(-degree, kind="stable")[:LANDMARKS]
        far = dijkstra(graph, directed=False, indices=chosen[nodes], unweighted=True)
        near = torch.from_numpy((1 / (1 + far)).T.astype(np.float32))
        return torch.cat((degree_features(edges, nodes, directed=directed), near), dim=1)

    feature_map.DEGREE_NAMES = (*DEGREE_NAMES, *(f"landmark {i}" for i in range(LANDMARKS)))
    feature_map.degree_features = links.degree_features = features


def pagerank() -> None:
    """Facts of pairs: the greater and the smaller personalised PageRank of the two, as logs."""
    facts_on = structure.facts_on

    def facts(pairs: Tensor, shown: structure.Shown) -> Tensor:
        known, nodes = facts_on(pairs, shown), shown.graph.num_targets
        source, target = shown.graph.source.numpy(), shown.graph.target.numpy()
        degree = np.maximum(np.bincount(target, minlength=nodes), 1)
        shares = (1 / degree[source]).astype(np.float32)
        step = scipy.sparse.csr_matrix((shares, (target, source)), shape=(nodes, nodes))
        one, two = pairs.numpy()
        starts, which = np.unique(one, return_inverse=True)
        rank = np.empty(len(one), np.float32)
        for low in range(0, len(starts), COLUMNS):
            some = starts[low : low + COLUMNS]
            walk = np.zeros((nodes, len(some)), np.float32)
            walk[some, np.arange(len(some))] = 1
            total = BACK * walk
            for _ in range(STEPS):
                walk = (1 - BACK) * (step @ walk)
                total += BACK * walk
            here = (which >= low) & (which < low + COLUMNS)
            rank[here] = total[two[here], which[here] - low]
        there, back = np.log1p(nodes * rank), np.log1p(nodes * rank * degree[one] / degree[two])
        both = np.stack((np.maximum(there, back), np.minimum(there, back)), 1)
        return torch.cat((known, torch.from_numpy(both).to(known) * known[:, :1]), dim=1)

    structure.FACTS += 2
    structure.facts_on = links.facts_on = facts


if __name__ == "__main__":
    prototypes = {"landmarks": landmarks, "pagerank": pagerank}
    if len(sys.argv) < 2 or sys.argv[1] not in prototypes:
        sys.exit(f"Expected one of {', '.join(prototypes)} first.")
    prototypes[sys.argv.pop(1)]()
    link_defaults.main()
