"""Embeddings of a whole graph layer by layer, in blocks of nodes with all their neighbours.

The result is that of one pass over the whole graph. Memory is that of two layers of all nodes and
of one block, however many edges the graph has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hgcn.data.sparse import select_rows
from hgcn.models.base import Encoder
from hgcn.sampling import Adjacency, Block, NeighbourSampler

BLOCK = 1_000_000
"""Nodes and edges of a block: larger ones compute fewer nodes again, smaller ones take less."""


def last_layer(
    encoder: Encoder, x: Tensor, rows: Adjacency, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """Embeddings of all nodes, on the device of the network; see :func:`each_layer`."""
    (z,) = deque(each_layer(encoder, x, rows, device, dtype), maxlen=1)
    return z.to(device)


@torch.no_grad()
def each_layer(
    encoder: Encoder, x: Tensor, rows: Adjacency, device: torch.device, dtype: torch.dtype
) -> Iterator[Tensor]:
    """The output of each layer for all nodes, on the CPU; one after the other.

    Args:
        encoder: a network whose layers can be applied on their own, in evaluation mode.
        x: features of all nodes.
        rows: the edges.
        device: that of the network.
        dtype: that of its weights.
    """
    sampler = NeighbourSampler(rows, [-1] * bool(encoder.hops), totals=encoder.normalised)
    for number in range(encoder.layers):
        parts = []
        for low, high in _ranges(rows):
            sample = sampler.sample(torch.arange(low, high), seed=0)
            block = (*sample.blocks(), Block(sample.edge_index, high - low, high - low))[0]
            own = select_rows(x, sample.nodes).to(device=device, dtype=dtype)
            parts.append(encoder.apply_layer(number, own, block.to(device, dtype)).cpu())
        x = torch.cat(parts)
        yield x


def _ranges(rows: Adjacency) -> Iterator[tuple[int, int]]:
    """First and last number of the nodes of each block; a node of many edges is one of its own."""
    work = rows.start + np.arange(len(rows.start))
    low = 0
    while low < rows.num_nodes:
        high = int(np.searchsorted(work, work[low] + BLOCK, side="right")) - 1
        high = min(max(high, low + 1), rows.num_nodes)
        yield low, high
        low = high
