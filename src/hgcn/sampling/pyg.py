"""The sampler for PyTorch Geometric's ``NodeLoader`` and ``LinkLoader``."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.sampler import (  # type: ignore[import-untyped]
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NodeSamplerInput,
    SamplerOutput,
)

from hgcn.data.splits.negatives import NonEdges
from hgcn.errors import ConfigError
from hgcn.sampling.adjacency import Adjacency
from hgcn.sampling.sampler import NeighbourSampler, Sample, seed_of

__all__ = ["PyGSampler"]


class PyGSampler(BaseSampler):  # type: ignore[misc]
    """Our sampler as a ``BaseSampler``; it needs neither pyg-lib nor torch-sparse.

    What is drawn for a batch depends on the seed, the epoch and the batch alone, so the number of
    workers of a loader does not change it. Set ``epoch`` before each epoch for other draws.

    Args:
        data: a graph of one kind of nodes and edges, such as ``Data``: what has ``edge_index`` and
            ``num_nodes``.
        num_neighbors: how many edges to draw for each node, hop by hop; -1 for all.
        weight: a weight for each edge to draw by; evenly without.
        replace: draw with replacement.
        hide: whether the edges that a batch of links asks for are hidden from it, in both
            directions: a network that is shown them learns to recognise them.
        directed: whether ``(i, j)`` and ``(j, i)`` are two links; for negatives.
        seed: of all draws.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from torch_geometric.loader import NodeLoader
        >>> data = Data(x=torch.randn(4, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> loader = NodeLoader(data, PyGSampler(data, [2, 2]), torch.tensor([3]), batch_size=1)
        >>> next(iter(loader)).n_id
        tensor([3, 2, 1])
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Sequence[int],
        *,
        weight: Tensor | None = None,
        replace: bool = False,
        hide: bool = True,
        directed: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        rows = Adjacency.of(data.edge_index, weight, int(data.num_nodes))
        self.sampler = NeighbourSampler(
            rows, num_neighbors, by_weight=weight is not None, replace=replace
        )
        self.edge_index = data.edge_index
        self.hide = hide
        self.directed = directed
        self.seed = seed
        self.epoch = 0
        self._non_edges: NonEdges | None = None

    def sample_from_nodes(self, index: NodeSamplerInput, **_: Any) -> SamplerOutput:
        """The neighbours of a batch of nodes, of which each is there once."""
        out = _output(self.sampler.sample(index.node, seed=self._seed(index.node)))
        out.metadata = index.input_id, index.time
        return out

    def sample_from_edges(
        self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None
    ) -> SamplerOutput:
        """The neighbours of both ends of a batch of links, and of negatives: pairs without an edge.

        Negatives of the mode "binary" are drawn evenly from all pairs without an edge.
        """
        pairs, label = torch.stack((index.row, index.col)), index.label
        hidden, seed = pairs if self.hide else None, self._seed(pairs)
        if neg_sampling is not None:
            pairs, label = self._with_negatives(pairs, label, neg_sampling, seed)
        nodes, local = torch.unique(pairs, return_inverse=True)
        out = _output(self.sampler.sample(nodes, seed=seed, hidden=hidden))
        out.metadata = index.input_id, local, label, index.time
        return out

    @property
    def edge_permutation(self) -> None:
        """None: edges are numbered as they were given."""
        return

    def _with_negatives(
        self, pairs: Tensor, label: Tensor | None, asked: NegativeSampling, seed: int
    ) -> tuple[Tensor, Tensor]:
        weighted = asked.src_weight is not None or asked.dst_weight is not None
        if not asked.is_binary() or weighted:
            raise ConfigError(
                "Expected negatives of the mode 'binary' without weights of nodes, got others."
            )
        if self._non_edges is None:
            n = self.sampler.adjacency.num_nodes
            self._non_edges = NonEdges(self.edge_index, n, directed=self.directed)
        count = math.ceil(pairs.shape[1] * asked.amount)
        generator = torch.Generator().manual_seed(seed % 2**63)
        label = torch.ones(pairs.shape[1]) if label is None else label
        label = torch.cat((label, label.new_zeros(count, *label.shape[1:])))
        return torch.cat((pairs, self._non_edges.draw(count, generator)), dim=1), label

    def _seed(self, asked: Tensor) -> int:
        content = hashlib.blake2b(asked.contiguous().numpy().tobytes(), digest_size=8).digest()
        return seed_of(self.seed, self.epoch, int.from_bytes(content, "little"))


def _output(sample: Sample) -> SamplerOutput:
    row, col = sample.edge_index
    nodes, edges = torch.tensor(sample.node_counts), torch.tensor((0, *sample.edge_counts))
    return SamplerOutput(
        node=sample.nodes,
        row=row,
        col=col,
        edge=sample.edges,
        num_sampled_nodes=[int(nodes[0]), *nodes.diff().tolist()],
        num_sampled_edges=edges.diff().tolist(),
    )
