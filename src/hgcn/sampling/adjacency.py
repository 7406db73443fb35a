"""The rows of a graph that neighbours are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hgcn.errors import GraphError
from hgcn.kernels.rows import Doubles, Ints, sort_edges


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The edges that end at each node i, at ``start[i]`` to ``start[i + 1]`` of the arrays.

    Attributes:
        start: the first position of each node, and at last the number of edges.
        source: the node that each edge comes from, in the order of the edge list; in 32 bits if
            these are enough.
        edge: the number of each edge in the edge list, likewise.
        weight: the weight of each edge; None if they have none.
    """

    start: Ints
    source: Ints
    edge: Ints
    weight: Doubles | None = None

    @classmethod
    def of(cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> Adjacency:
        """The rows of an edge list ``[2, E]``: sources over targets.

        Example:
            >>> import torch
            >>> Adjacency.of(torch.tensor([[0, 2, 1], [1, 1, 0]]), None, 3).source.tolist()
            [1, 0, 2]
        """
        if edge_index.numel():
            low, high = int(edge_index.min()), int(edge_index.max())
            if low < 0 or high >= num_nodes:
                wrong = low if low < 0 else high
                raise GraphError(f"Expected nodes in 0..{num_nodes - 1}, got {wrong} in an edge.")
        fits = max(num_nodes, edge_index.shape[1]) < 2**31
        ends = edge_index.detach().cpu().to(torch.int32 if fits else torch.int64)
        source, target = (end.contiguous() for end in ends)
        start, other, edge = sort_edges(target.numpy(), source.numpy(), num_nodes)
        weight = None
        if edge_weight is not None:
            weight = edge_weight.detach().cpu().double().numpy()[edge]
            if not (np.isfinite(weight).all() and (weight >= 0).all()):
                raise GraphError("Expected edge weights that are finite and not negative.")
        return cls(start, other, edge, weight)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.start) - 1

    @cached_property
    def totals(self) -> Doubles:
        """The sum of the weights of each row; a node without a self-loop has one of weight 1."""
        target = np.repeat(np.arange(self.num_nodes), np.diff(self.start))
        total = np.bincount(target, self.weight, self.num_nodes).astype(np.float64)
        missing = np.ones(self.num_nodes)
        missing[target[target == self.source]] = 0.0
        return total + missing
