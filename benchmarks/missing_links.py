"""How long does the exact search for the 100 most probable missing links take?

Graphs of 100,000 nodes and a million edges, and a star, with embeddings in 16 dimensions and
structural terms of random weights; compared with the search by distances alone. Run it with
``python benchmarks/missing_links.py``; a number of nodes may follow.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from _graphs import scale_free
from torch import Tensor

from hgcn import kernels
from hgcn.config import Config
from hgcn.data import Graph
from hgcn.inference.missing_links import closest_pairs, likely_pairs
from hgcn.models.predictor import Predictor, model_settings

DIMENSION, DEGREE, LINKS = 16, 20, 100


def random_graph(nodes: int) -> Graph:
    ends = np.random.default_rng(0).integers(0, nodes, (2, nodes * DEGREE // 2))
    ends = torch.from_numpy(ends[:, ends[0] != ends[1]])
    return Graph(torch.unique(torch.cat((ends, ends.flip(0)), 1), dim=1), nodes)


def scale_free_graph(nodes: int) -> Graph:
    return Graph(scale_free(nodes, features=1, degree=DEGREE).edge_index, nodes)


def star(leaves: int) -> Graph:
    ends = torch.stack((torch.zeros(leaves, dtype=torch.int64), torch.arange(1, leaves + 1)))
    return Graph(torch.cat((ends, ends.flip(0)), 1), leaves + 1)


def network(size: float, seed: int = 0) -> Predictor:
    """A network in hyperbolic space with a structural term of random weights."""
    torch.manual_seed(seed)
    config = model_settings(Config(model="hyp", dim=DIMENSION, c=1.0, structure=True))
    predictor = Predictor(config, in_channels=1, num_nodes=1, num_classes=0).eval()
    with torch.no_grad():
        for weight in predictor.structure.parameters():  # type: ignore[union-attr]
            weight.normal_(0.0, size)
    return predictor


def points(graph: Graph, kind: str) -> Tensor:
    """Points of a cloud, or such that neighbours are close, or all the same."""
    z = torch.randn(graph.num_nodes, DIMENSION, generator=torch.Generator().manual_seed(1))
    if kind == "same":
        return torch.zeros_like(z)
    if kind == "smooth":
        rows = kernels.neighbourhoods(
            graph.edge_index, num_sources=len(z), num_targets=len(z), add_self_loops=True
        )
        for _ in range(2):
            z = kernels.weighted_sum(z, rows.shares(z.dtype), rows)
        z = z / z.std()
    return 0.5 * z


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    torch.set_num_threads(2)
    only = sys.argv[2:]
    small = random_graph(300)
    likely_pairs(network(0.3), points(small, "smooth"), small, LINKS)  # compiles
    closest_pairs(points(small, "smooth"), small, LINKS, space=network(0.3).encoder.space)
    graphs = {"random": random_graph(nodes), "scale-free": scale_free_graph(nodes)}
    cases = [(name, kind) for name in graphs for kind in ("cloud", "smooth")]
    graphs["star"] = star(nodes)
    print(f"{'graph':12}{'points':10}{'weights':>8}{'seconds':>9}{'CPU':>8}", flush=True)
    for name, kind in [*cases, ("star", "same")]:
        if only and (name, kind) != tuple(only):
            continue
        graph, z = graphs[name], points(graphs[name], kind)
        for size in (None, 0.1, 0.3) if name != "star" else (0.1, 0.3):
            start, busy = time.perf_counter(), time.process_time()
            predictor = network(size or 0.0, seed=2)
            if size is None:
                closest_pairs(z, graph, LINKS, space=predictor.encoder.space)
            else:
                likely_pairs(predictor, z, graph, LINKS)
            wall, busy = time.perf_counter() - start, time.process_time() - busy
            shown = "none" if size is None else f"{size}"
            print(f"{name:12}{kind:10}{shown:>8}{wall:9.1f}{busy:8.1f}", flush=True)


if __name__ == "__main__":
    main()
