"""The edges of one layer of a network: from many nodes to a few of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from hgcn import kernels
from hgcn.data.sent import sent


@dataclass(frozen=True, eq=False)
class Block:
    """The edges that a layer passes messages along; its targets are the first of its sources.

    A whole graph is a block whose targets are all nodes.

    Attributes:
        edge_index: sources over targets, shape ``[2, E]``.
        num_sources: number of nodes whose input is known.
        num_targets: number of nodes whose output is asked for.
        edge_weight: the weight of each edge, where the graph has weights.
        stands: for how many edges of its row each edge stands, where some were left out.
        totals: for each source, the weight of all edges that end at it in the whole graph, its
            self-loop among them; only for models that divide by it.
    """

    edge_index: Tensor
    num_sources: int
    num_targets: int
    edge_weight: Tensor | None = None
    stands: Tensor | None = None
    totals: Tensor | None = None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of sources and targets, as PyG's layers take them."""
        return self.num_sources, self.num_targets

    @property
    def weight(self) -> Tensor | None:
        """The weight of each edge, times the number of edges that it stands for."""
        if self.stands is None or self.edge_weight is None:
            return self.edge_weight if self.stands is None else self.stands
        return self.edge_weight * self.stands

    def neighbourhoods(self, *, add_self_loops: bool) -> kernels.Neighbourhoods:
        """The edges in the order of their targets."""
        return kernels.neighbourhoods(
            self.edge_index,
            num_sources=self.num_sources,
            num_targets=self.num_targets,
            add_self_loops=add_self_loops,
        )

    def symmetric(self, graph: kernels.Neighbourhoods, dtype: torch.dtype) -> Tensor:
        """Kipf and Welling's weights of these edges, in the order of their targets."""
        totals = None if self.totals is None else self.totals.to(dtype)
        return graph.symmetric(graph.weights(self.weight, dtype), totals)

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """What was made of these edges for one layer, for the other layers too."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def to(self, device: torch.device, dtype: torch.dtype) -> Block:
        """The same on a device; weights as ``dtype``."""
        moved: dict[str, Any] = {
            name: value if value is None else sent(value.to(dtype), device)
            for name in ("edge_weight", "stands", "totals")
            for value in [getattr(self, name)]
        }
        return replace(self, edge_index=sent(self.edge_index, device), **moved, _kept={})
