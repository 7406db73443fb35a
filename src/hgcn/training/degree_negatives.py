"""Training negatives whose nodes are drawn by degree, from which degrees cannot tell edges."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from hgcn.data.pairs import distinct, find, keys
from hgcn.data.splits import LinkSplit


class DegreeNegatives:
    """Fresh negatives, a share of which has nodes drawn as often as they have training edges.

    Such a pair has the source of one training edge and the target of another, or in an undirected
    graph any end of each. A draw that is a training edge, a node and itself, or of two graphs, is
    not made again: a pair of :meth:`~hgcn.data.splits.LinkSplit.sample_negatives` stays there.

    Args:
        split: the split.
        num_nodes: number of nodes.
        graph_ids: the graph of each node, where there are many.
        share: share of the pairs that are drawn so.
    """

    def __init__(
        self, split: LinkSplit, num_nodes: int, graph_ids: Tensor | None, share: float
    ) -> None:
        self._split, self._nodes, self._graph_ids, self._share = split, num_nodes, graph_ids, share
        self._ordered = split.non_edges.directed

    @cached_property
    def _known(self) -> Tensor:
        edges = self._split.train.positives
        return distinct(keys(edges, self._nodes, unordered=not self._ordered))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Pairs ``[2, count]``."""
        pairs = self._split.sample_negatives(count, generator)
        some = round(self._share * count)
        if not some:
            return pairs
        edges = self._split.train.positives
        sources, targets = edges if self._ordered else (edges.reshape(-1),) * 2
        drawn = torch.stack([
            ends[torch.randint(len(ends), (some,), generator=generator)]
            for ends in (sources, targets)
        ])  # fmt: skip
        wrong = find(self._known, keys(drawn, self._nodes, unordered=not self._ordered))[1]
        wrong |= drawn[0] == drawn[1]
        if self._graph_ids is not None:
            wrong |= self._graph_ids[drawn[0]] != self._graph_ids[drawn[1]]
        return torch.cat((torch.where(wrong, pairs[:, :some], drawn), pairs[:, some:]), dim=1)
