"""Embeddings of a whole graph layer by layer, in blocks of nodes with all their neighbours.

The result is that of one pass over the whole graph. Memory is that of two layers of all nodes and
of one block, however many edges the graph has. What a layer does to each node by itself is done
once, as a node is among the neighbours in many blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from hgcn.data.sparse import select_rows
from hgcn.kernels.rows import Ints
from hgcn.models.base import Encoder
from hgcn.ranks import ALONE, Ranks
from hgcn.sampling import Adjacency, Block, NeighbourSampler

BLOCK = 1_000_000
"""Nodes and edges of a block: larger ones compute fewer nodes again, smaller ones take less."""


@torch.no_grad()
def each_layer(
    encoder: Encoder,
    x: Tensor,
    rows: Adjacency,
    device: torch.device,
    dtype: torch.dtype,
    ranks: Ranks = ALONE,
) -> Iterator[Tensor]:
    """The output of each layer for all nodes, on the CPU; one after the other.

    Args:
        encoder: a network whose layers can be applied on their own, in evaluation mode.
        x: features of all nodes.
        rows: the edges.
        device: that of the network.
        dtype: that of its weights.
        ranks: those that divide the nodes of each layer among them; all of them call this.
    """
    if rows.num_nodes < ranks.world:
        ranks = ALONE
    bounds = _shares(rows, ranks.world)
    first, last = bounds[ranks.rank], bounds[ranks.rank + 1]
    sampler = NeighbourSampler(rows, [-1] * bool(encoder.hops), totals=encoder.normalised)
    for number in range(encoder.steps):
        node_map = encoder.node_map(number)
        if node_map is not None:
            mapped = [node_map(own.to(device=device, dtype=dtype)).cpu() for own in _slices(x)]
            x = torch.cat(mapped)
        parts = []
        for low, high in _ranges(rows, first, last):
            sample = sampler.sample(torch.arange(low, high), seed=0)
            block = (*sample.blocks(), Block(sample.edge_index, high - low, high - low))[0]
            own = select_rows(x, sample.nodes).to(device=device, dtype=dtype)
            parts.append(encoder.from_mapped(number, own, block.to(device, dtype)).cpu())
        x = torch.cat(parts)
        if ranks.world > 1:
            own, x = x, x.new_empty(rows.num_nodes, x.shape[1])
            x[first:last] = own
            ranks.gather(x, bounds)
        if number >= encoder.steps - encoder.layers:  # the first layer may take several steps
            yield x


def _slices(x: Tensor) -> Iterator[Tensor]:
    """The rows of a matrix in blocks."""
    for low in range(0, max(len(x), 1), BLOCK):
        high = min(low + BLOCK, len(x))
        dense = x.layout is torch.strided
        yield x[low:high] if dense else select_rows(x, torch.arange(low, high))


def _ranges(rows: Adjacency, low: int, last: int) -> Iterator[tuple[int, int]]:
    """First and last number of the nodes of each block; a node of many edges is one of its own."""
    work = _work(rows)
    while low < last:
        high = int(np.searchsorted(work, work[low] + BLOCK, side="right")) - 1
        high = min(max(high, low + 1), last)
        yield low, high
        low = high


def _shares(rows: Adjacency, count: int) -> list[int]:
    """Where shares of the nodes with equal work begin, and the end; each has a node at least."""
    work, n = _work(rows), rows.num_nodes
    bounds = [0]
    for k in range(1, count):
        even = int(np.searchsorted(work, work[-1] * k / count))
        bounds.append(min(max(even, bounds[-1] + 1), n - count + k))
    return [*bounds, n]


def _work(rows: Adjacency) -> Ints:
    """Nodes and edges before each node, and at last all of them."""
    work: Ints = rows.start + np.arange(len(rows.start))
    return work
