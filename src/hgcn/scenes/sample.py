"""Of a large graph, a picture shows a sample."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.scenes.columns import depth

MOST_NODES_DRAWN = 50_000
"""A page of more nodes would be slow to make and to move."""


def sample_of_nodes(graph: Graph, most: int) -> Tensor:
    """Numbers of some nodes: the ends of random edges, so that there are edges among them."""
    random = torch.Generator().manual_seed(0)
    edges = torch.randperm(graph.edge_index.shape[1], generator=random)[: most // 2]
    ends = torch.unique(graph.edge_index[:, edges])
    others = torch.randperm(graph.num_nodes, generator=random)
    others = others[~torch.isin(others, ends)][: most - len(ends)]
    return torch.cat((ends, others)).sort()[0]


def sampled(graph: Graph, nodes: Tensor) -> Graph:
    """The graph of some nodes, with the degree and depth that each has in the whole graph."""
    pairs = graph.pairs()
    facts = {
        "degree": np.bincount(pairs.flatten().numpy(), minlength=graph.num_nodes),
        "depth": depth(pairs.numpy(), graph.num_nodes),
    }
    kept = {name: values[nodes.numpy()] for name, values in facts.items()}
    part = graph.subgraph(nodes)
    return part.replace(columns=kept | dict(part.columns))


def sample_note(graph: Graph, nodes: Tensor) -> str:
    """What a reader has to know of a picture of some nodes."""
    return f"A sample of {len(nodes):,} of {graph.num_nodes:,} nodes"
