"""The neighbour sampler: the small graph that a batch of nodes needs."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from hgcn.errors import ConfigError, GraphError
from hgcn.kernels.rows import Ints
from hgcn.sampling.adjacency import Adjacency
from hgcn.sampling.blocks import Block
from hgcn.sampling.drawing import (
    Places,
    Words,
    add_sources,
    draw_edges,
    leave_places,
    take_places,
)

MOST_NODES = 2**31 - 1
"""Nodes are numbered in 32 bits while a batch is drawn."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The nodes and edges within some hops of a batch of nodes, which come first.

    Attributes:
        nodes: their numbers in the whole graph: the batch, then the new ones of each hop.
        node_counts: how many nodes there are up to each hop, the batch first.
        edge_index: sources over targets, as positions in ``nodes``, hop by hop; the edges of hop h
            end at the new nodes of the hop before.
        edge_counts: how many edges there are up to each hop.
        edge_weight: the weight of each edge, where the graph has weights.
        stands: for how many edges of its row each edge stands; None if none was left out.
        totals: see :class:`~hgcn.sampling.Block`.
        rows: the whole graph.
        position: of each edge in these rows.
    """

    nodes: Tensor
    node_counts: tuple[int, ...]
    edge_index: Tensor
    edge_counts: tuple[int, ...]
    edge_weight: Tensor | None
    stands: Tensor | None
    totals: Tensor | None
    rows: Adjacency
    position: Ints

    @cached_property
    def edges(self) -> Tensor:
        """The number of each edge in the edge list of the whole graph."""
        return torch.from_numpy(self.rows.edge[self.position]).long()

    def blocks(self) -> tuple[Block, ...]:
        """A block for each layer: each knows the sources that the layer before has as targets."""
        found = []
        for hop in range(len(self.edge_counts), 0, -1):
            sources, edges = self.node_counts[hop], self.edge_counts[hop - 1]
            weight, stands, totals = self.edge_weight, self.stands, self.totals
            found.append(
                Block(
                    self.edge_index[:, :edges].contiguous(),
                    sources,
                    self.node_counts[hop - 1],
                    None if weight is None else weight[:edges],
                    None if stands is None else stands[:edges],
                    None if totals is None else totals[:sources],
                )
            )
        return tuple(found)


@final
class NeighbourSampler:
    """Draws the neighbours of a batch of nodes, their neighbours, and so on.

    Each node that is reached is expanded once, with the fan-out of the hop after it. Without
    replacement, a node with no more neighbours than the fan-out has all of them. Where some are
    left out, each edge that was drawn stands for several: ``stands`` times its weight has the
    weight of that edge as its expectation, and so a sum over a row has that of the whole row.

    The same seed gives the same sample, whatever was drawn before, in any thread. The edges drawn
    for a node depend on the seed, the node and the fan-out alone, not on the rest of the batch.

    Args:
        adjacency: the graph.
        fanouts: how many edges to draw for each node of a hop; -1 for all.
        by_weight: draw edges by their weight rather than evenly.
        replace: draw with replacement.
        totals: whether models need the total weight of each node.

    Example:
        >>> import torch
        >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
        >>> sampler = NeighbourSampler(Adjacency.of(path, None, 4), [-1, -1])
        >>> sampler.sample(torch.tensor([3]), seed=0).nodes
        tensor([3, 2, 1])
    """

    def __init__(
        self,
        adjacency: Adjacency,
        fanouts: Sequence[int],
        *,
        by_weight: bool = False,
        replace: bool = False,
        totals: bool = False,
    ) -> None:
        if adjacency.num_nodes > MOST_NODES:
            raise GraphError(f"Expected at most {MOST_NODES:,} nodes, got {adjacency.num_nodes:,}.")
        if any(fanout < 1 and fanout != -1 for fanout in fanouts):
            raise ConfigError(f"Expected fan-outs of at least 1, or -1, got {list(fanouts)}.")
        if by_weight and adjacency.weight is None:
            raise ConfigError("Expected a graph with edge weights to draw by, got one without.")
        self.adjacency = adjacency
        self.fanouts = tuple(fanouts)
        self.by_weight = by_weight
        self.replace = replace
        self.totals = totals
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what belongs to threads, for another process."""
        return {**self.__dict__, "_local": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _local=threading.local())

    def sample(self, nodes: Tensor, *, seed: int, hidden: Tensor | None = None) -> Sample:
        """The neighbours of a batch of nodes.

        Args:
            nodes: the batch: different nodes ``[B]``.
            seed: of the draws, see :func:`seed_of`.
            hidden: pairs of nodes ``[2, H]`` whose edges, in either direction, are not there.
        """
        batch = self._checked(nodes)
        keys = np.empty(0, np.int64)
        if hidden is not None and hidden.numel():
            one, two = hidden.cpu().numpy()
            n = self.adjacency.num_nodes
            keys = np.sort(np.concatenate((one * n + two, two * n + one)))
        there, place = self._places()
        again = take_places(batch, there, place)
        if again >= 0:
            raise GraphError(f"Expected different nodes in a batch, got {batch[again]} twice.")
        reached = batch
        try:
            hops, counts, first = [], [len(batch)], 0
            word = np.uint64(seed % 2**64)
            whole = self.adjacency
            weight = np.empty(0) if whole.weight is None else whole.weight
            rows = whole.start, whole.source, weight
            for fanout in self.fanouts:
                how = fanout, self.by_weight, self.replace
                position, target, stands = draw_edges(rows, reached, first, how, keys, word)
                ends = np.empty_like(position)
                reached = add_sources(whole.source, position, reached, there, place, ends)
                hops.append((position, ends, target, stands))
                first = counts[-1]
                counts.append(len(reached))
        finally:
            leave_places(reached, there)
        return self._made(reached, tuple(counts), hops)

    def _made(self, nodes: Ints, counts: tuple[int, ...], hops: list[tuple[Any, ...]]) -> Sample:
        rows = self.adjacency
        empty = (*[np.empty(0, np.int64)] * 3, np.empty(0))
        position, source, target, stands = map(np.concatenate, zip(*hops or [empty], strict=True))
        weight = None if rows.weight is None else torch.from_numpy(rows.weight[position])
        return Sample(
            nodes=torch.from_numpy(nodes),
            node_counts=counts,
            edge_index=torch.from_numpy(np.stack((source, target))),
            edge_counts=tuple(np.cumsum([len(hop[0]) for hop in hops]).tolist()),
            edge_weight=weight,
            stands=None if (stands == 1).all() else torch.from_numpy(stands),
            totals=torch.from_numpy(rows.totals[nodes]) if self.totals else None,
            rows=rows,
            position=position,
        )

    def _checked(self, nodes: Tensor) -> Ints:
        batch: Ints = nodes.detach().cpu().long().contiguous().numpy()
        n = self.adjacency.num_nodes
        if len(batch) and not 0 <= batch.min() <= batch.max() < n:
            wrong = batch[(batch < 0) | (batch >= n)][0]
            raise GraphError(f"Expected nodes in 0..{n - 1}, got {wrong}.")
        return batch

    def _places(self) -> tuple[Words, Places]:
        """Which nodes are in the sample, none between two calls, and where; of each thread."""
        if not hasattr(self._local, "place"):
            n = self.adjacency.num_nodes
            self._local.there = np.zeros(n // 64 + 1, np.uint64)
            self._local.place = np.empty(n, np.int32)
        there: Words = self._local.there
        place: Places = self._local.place
        return there, place


def seed_of(*numbers: int) -> int:
    """A seed made of several numbers: that of a run, the epoch, the number of the batch.

    Example:
        >>> seed_of(0, 1, 2) == seed_of(0, 1, 2), seed_of(0, 1, 2) == seed_of(0, 2, 1)
        (True, False)
    """
    text = " ".join(map(str, numbers)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
