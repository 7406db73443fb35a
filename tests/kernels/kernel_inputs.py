"""A small graph with the cases that matter, and points on it."""

import torch
from torch import Tensor

from hgcn import kernels

NODES, EDGES, D = 40, 250, 5  # fewer where a backend is slow


def graph(*, loops: bool = True, seed: int = 0) -> kernels.Neighbourhoods:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, NODES, (2, EDGES), generator=generator)
    edge_index[edge_index == 4] = 5  # node 4 is isolated
    edge_index[:, 1] = edge_index[:, 0]  # an edge given twice
    return kernels.neighbourhoods(
        edge_index, num_sources=NODES, num_targets=NODES, add_self_loops=loops
    )


def points(scale: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Among them the origin, a repeat, antipodes and a point next to the origin."""
    v = scale * torch.randn(NODES, D, dtype=dtype) / D**0.5
    v[3] = v[6] = 0
    v[7], v[9] = v[8], -v[10]
    v[11] *= 1e-9
    return v


def shares(g: kernels.Neighbourhoods, dtype: torch.dtype = torch.float64) -> Tensor:
    weight = torch.rand(len(g.source), dtype=dtype)
    total = weight.new_zeros(NODES).index_add(0, g.target, weight)
    return weight / total[g.target]
