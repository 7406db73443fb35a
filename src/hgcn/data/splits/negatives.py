"""Pairs of nodes without an edge: counted, numbered and drawn without ever listing them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hgcn.data.pairs import distinct
from hgcn.errors import GraphError


class NonEdges:
    """All pairs of nodes that are not among some edges.

    Pairs are numbered row by row: those of the first node, of the second, and so on. The k-th pair
    without an edge has the number k plus the edges that come before it, which a binary search
    finds. So a draw is a draw of k: exact and uniform, without a rejected one, in a dense graph
    too. Memory is O(nodes + edges).

    Example:
        >>> import torch
        >>> path = NonEdges(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> path.pairs(torch.arange(len(path))).tolist()
        [[0, 0, 1], [2, 3, 3]]

    Args:
        edges: pairs of nodes, shape ``[2, number of edges]``.
        num_nodes: number of nodes.
        directed: whether ``(i, j)`` and ``(j, i)`` are two pairs.
        graph_ids: only pairs within one graph count; nodes with -1 are left out.
        self_pairs: whether a node and itself are a pair; for the legacy protocol only.

    Attributes:
        directed: whether ``(i, j)`` and ``(j, i)`` are two pairs.
    """

    def __init__(
        self,
        edges: Tensor,
        num_nodes: int,
        *,
        directed: bool = False,
        graph_ids: Tensor | None = None,
        self_pairs: bool = False,
    ) -> None:
        from hgcn.data.splits.pair_kernel import guide  # Numba takes a while to import

        self.directed = directed
        many = graph_ids is not None
        if graph_ids is None:
            graph_ids = torch.zeros(num_nodes, dtype=torch.int64)
        sizes = torch.bincount(graph_ids[graph_ids >= 0])
        ends = sizes.cumsum(0)
        # Nodes graph by graph: a stable sort keeps smaller numbers first within a graph.
        nodes = graph_ids.argsort(stable=True)[int((graph_ids < 0).sum()) :]
        graph = graph_ids[nodes]
        position = torch.arange(len(nodes))
        if directed:
            first, count = (ends - sizes)[graph], sizes[graph] - 1
        else:
            first = position if self_pairs else position + 1
            count = ends[graph] - first
        row = torch.cat((count.new_zeros(1), count.cumsum(0)))

        position_of = torch.full((num_nodes,), -1)
        position_of[nodes] = position
        i, j = position_of[edges]
        if not directed:
            i, j = torch.minimum(i, j), torch.maximum(i, j)
        number = row[i] + j - first[i] - ((j > i) & directed).long()
        number = distinct(number)
        before = number - torch.arange(len(number))
        bounds = row[torch.cat((ends.new_zeros(1), ends))]
        self._bounds = bounds - torch.searchsorted(number, bounds)
        lists = [values.contiguous().numpy() for values in (before, row, first, nodes)]
        guides = guide(lists[0], len(self)), guide(lists[1], int(row[-1]))
        self._lookup = (lists[0], guides[0], lists[1], guides[1], lists[2], lists[3], directed)
        # A graph is drawn as often as it has edges, or a few large ones would take all draws.
        self._graph_of_edge = None
        if many:
            of_edge = graph[i]
            self._graph_of_edge = of_edge[self._bounds.diff()[of_edge] > 0]

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def pairs(self, k: Tensor) -> Tensor:
        """The pairs with these numbers in ``0..len - 1``, shape ``[2, number of pairs]``."""
        from hgcn.data.splits.pair_kernel import numbered_pairs

        return torch.from_numpy(numbered_pairs(k.numpy(), *self._lookup))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Independent draws: each pair of a graph is as likely as any other one.

        Of many graphs, each is drawn as often as it has edges.
        """
        graphs = self._graph_of_edge
        if len(self) == 0 or (graphs is not None and len(graphs) == 0):
            raise GraphError(
                "Expected pairs of nodes without an edge to draw negatives from, got none: "
                "each pair of nodes has an edge."
            )
        if graphs is None:
            return self.pairs(torch.randint(len(self), (count,), generator=generator))
        graph = graphs.index_select(0, torch.randint(len(graphs), (count,), generator=generator))
        size = self._bounds.diff().index_select(0, graph)
        k = torch.randint(2**62, (count,), generator=generator) % size
        return self.pairs(self._bounds.index_select(0, graph) + k)

    def distinct(self, counts: Tensor, generator: np.random.Generator) -> Tensor:
        """Different pairs in random order, ``counts[g]`` of each graph g."""
        sizes = self._bounds.diff()[: len(counts)]
        short = (sizes < counts).nonzero()[:, 0].tolist()
        if short:
            where = "" if self._graph_of_edge is None else f" in graph {short[0]}"
            raise GraphError(
                f"Expected at least {int(counts[short[0]]):,} pairs of nodes without an edge{where}"
                f" to serve as negatives, got {int(sizes[short[0]]):,}. "
                "The graph is too dense for link prediction; hold out fewer edges."
            )
        # NumPy draws: torch can draw without replacement only from a list of all pairs.
        draws = [
            int(self._bounds[graph])
            + generator.choice(int(sizes[graph]), int(counts[graph]), False)
            for graph in counts.nonzero()[:, 0].tolist()
        ]
        return self.pairs(torch.from_numpy(np.concatenate([np.empty(0, np.int64), *draws])))
