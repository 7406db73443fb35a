"""The graph that everything else works on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.check import check_graph
from hgcn.data.pairs import distinct, keys, pairs_at
from hgcn.data.pyg import NAMED, fields_of_pyg
from hgcn.data.sparse import is_csr, select_rows
from hgcn.data.table import FeatureTable
from hgcn.names import PARTS
from hgcn.text import count

if TYPE_CHECKING:
    from torch_geometric.data import Data  # type: ignore[import-untyped]


FINGERPRINT = 3
"""The version of ``Graph.fingerprint``: those of different versions cannot be compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    r"""A graph with the attribute names of PyTorch Geometric, checked once and then immutable.

    Example:
        >>> import torch
        >>> graph = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
        >>> graph
        Graph(3 nodes, 1 edge)

    Args:
        edge_index: edges from row 0 to row 1, shape :math:`(2, |E|)`, int64. In an undirected graph
            each edge is there in both directions, as message passing needs it.
        num_nodes: number of nodes, isolated ones included.
        x: features, one row a node, float32, dense or sparse (CSR).
        y: class of each node, int64; -1 where it is unknown.
        edge_weight: positive weight of each edge, float32.
        directed: whether the direction of an edge means something.
        ids: the id of each node, as the user calls it; its number, 0, 1, ..., if not given.
        graph_ids: the number of the graph of each node, for data made of many graphs.
        feature_names: a name for each column of ``x``.
        class_names: a name for each class.
        columns: further facts about nodes, one array each, carried along for pictures and tables.
        table: the columns that ``x`` was made of, where it was. A run learns from its training
            nodes how columns become features; ``x`` has what all nodes of this graph tell.
        split: the numbers of the nodes in each part, "train", "val" and "test", where the data
            come with a split.
        links: pairs ``[2, M]`` of nodes for link prediction, where the data come with such a split:
            those with an edge in each part (``"val"``, ``"test"``, and ``"train"`` unless it is all
            others), those without (``"val_negatives"``, ...), and, if they are not the training
            edges, the edges that are shown (``"test_messages"``, ...).
        ratios: the usual shares of training, validation and test, where the data have such.
        name: name of the graph, for tables and run folders.
        notes: remarks on what was cleaned or filled in while reading, a sentence each.
    """

    edge_index: Tensor
    num_nodes: int
    x: Tensor | None = None
    y: Tensor | None = None
    edge_weight: Tensor | None = None
    directed: bool = False
    ids: np.ndarray = None  # type: ignore[assignment]
    graph_ids: Tensor | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    table: FeatureTable | None = None
    split: Mapping[str, Tensor] | None = None
    links: Mapping[str, Tensor] | None = None
    ratios: tuple[float, float, float] | None = None
    name: str = "graph"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", _ids_or_numbers(self.ids, self.num_nodes))
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        for name in ("split", "links"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if self.ratios is not None:
            object.__setattr__(self, "ratios", tuple(map(float, self.ratios)))
        check_graph(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        # Nobody changes a graph, so one is enough; torch could not copy sparse features anyway.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings cannot be pickled: the copy makes them anew.
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("columns", "split", "links"):
            values[name] = None if values[name] is None else dict(values[name])
        return _rebuild, (values,)

    def __repr__(self) -> str:
        facts = [count(self.num_nodes, "node")]
        facts.append(count(self.num_edges, "edge") + ", directed" * self.directed)
        if self.x is not None:
            facts.append(count(self.num_features, "feature"))
        if self.y is not None:
            facts.append(count(self.num_classes, "class"))
        if self.graph_ids is not None:
            facts.append(count(self.num_graphs, "graph"))
        name = "" if self.name == "graph" else f"{self.name!r}: "
        return f"Graph({name}{', '.join(facts)})"

    @property
    def num_edges(self) -> int:
        """Number of edges; an edge of an undirected graph counts once."""
        if self.directed:
            return self.edge_index.shape[1]
        source, target = self.edge_index
        return int((source <= target).sum())

    def tensors(self) -> list[Tensor]:
        """The tensors that a network reads: features, edges and weights of edges."""
        found = [self.x, self.edge_index, self.edge_weight]
        return [tensor for tensor in found if tensor is not None]

    @property
    def size(self) -> int:
        """Number of nodes and of columns of ``edge_index``: what a pass over the graph costs."""
        return self.num_nodes + self.edge_index.shape[1]

    @property
    def num_features(self) -> int:
        """Number of columns of ``x``; 0 without features."""
        return 0 if self.x is None else self.x.shape[1]

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 without labels."""
        if self.y is None:
            return 0
        if self.class_names is not None:
            return len(self.class_names)
        return int(self.y.max()) + 1 if self.y.numel() else 0

    @property
    def num_graphs(self) -> int:
        """Number of graphs; 1 unless ``graph_ids`` says more."""
        if self.graph_ids is None or not self.graph_ids.numel():
            return 1
        return int(self.graph_ids.max()) + 1

    def pairs(self) -> Tensor:
        """Each edge once, without self-loops, shape ``[2, number of pairs]``.

        Sorted, and canonical (smaller node first) where the graph is undirected.
        """
        source, target = self.edge_index
        keep = source != target if self.directed else source < target
        ordered = distinct(keys(self.edge_index[:, keep], self.num_nodes))
        return pairs_at(ordered, self.num_nodes)

    def replace(self, **changes: Any) -> Graph:
        """A copy with some fields changed, checked again.

        New features ``x`` take the place of the table that the old ones were made of.
        """
        if "x" in changes:
            changes.setdefault("table", None)
        return replace(self, **changes)

    def subgraph(self, nodes: Tensor) -> Graph:
        """The graph of some nodes and the edges among them, renumbered in the order given.

        Args:
            nodes: numbers of nodes, or a mask with an entry for each node.
        """
        nodes = torch.as_tensor(nodes)
        nodes = nodes.nonzero()[:, 0] if nodes.dtype == torch.bool else nodes.long()
        new_number = torch.full((self.num_nodes,), -1)
        new_number[nodes] = torch.arange(len(nodes))
        ends = new_number[self.edge_index]
        keep = (ends >= 0).all(dim=0)
        graph_ids = None
        if self.graph_ids is not None:
            graph_ids = torch.unique(self.graph_ids[nodes], return_inverse=True)[1]
        split = None
        if self.split is not None:
            kept = {part: new_number[index] for part, index in self.split.items()}
            split = {part: index[index >= 0] for part, index in kept.items()}
        links = None
        if self.links is not None:
            moved = {name: new_number[pairs] for name, pairs in self.links.items()}
            links = {name: pairs[:, (pairs >= 0).all(dim=0)] for name, pairs in moved.items()}
        picked = nodes.numpy()
        return self.replace(
            edge_index=ends[:, keep],
            num_nodes=len(nodes),
            x=None if self.x is None else select_rows(self.x, nodes),
            y=None if self.y is None else self.y[nodes],
            edge_weight=None if self.edge_weight is None else self.edge_weight[keep],
            ids=self.ids[picked],
            graph_ids=graph_ids,
            columns={name: values[picked] for name, values in self.columns.items()},
            table=None if self.table is None else self.table.rows(picked),
            split=split,
            links=links,
        )

    def fingerprint(self) -> str:
        """SHA-256 of everything that a training can depend on: equal for equal data everywhere.

        It covers nodes, edges, features, labels, direction, split and ratios, but neither names nor
        notes. The data are hashed once, at the first call.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, value in _facts(self):
            digest.update(f"{name}:".encode())
            if isinstance(value, Tensor):
                array = np.ascontiguousarray(value.detach().cpu().numpy())
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(array.ravel().view(np.uint8).data)
            else:
                digest.update(f"{value}\0".encode())
        return digest.hexdigest()

    def to_pyg(self) -> Data:
        """The same graph as a :class:`torch_geometric.data.Data`."""
        from torch_geometric.data import Data

        data = Data(x=self.x, edge_index=self.edge_index, y=self.y, num_nodes=self.num_nodes)
        if self.edge_weight is not None:
            data.edge_weight = self.edge_weight
        if self.directed:
            data.directed = True
        for name in ("graph_ids", *NAMED):
            value = getattr(self, name)
            if value is not None:
                data[name] = value
        for part, nodes in (self.split or {}).items():
            mask = torch.zeros(self.num_nodes, dtype=torch.bool)
            mask[nodes] = True
            data[f"{part}_mask"] = mask
        return data

    @classmethod
    def from_pyg(cls, data: Data, **fields_: Any) -> Graph:
        """The graph of a :class:`torch_geometric.data.Data`; keywords fill the other fields."""
        return cls(**fields_of_pyg(data, **fields_))


def _rebuild(values: dict[str, Any]) -> Graph:
    return Graph(**values)


def _facts(graph: Graph) -> Iterator[tuple[str, object]]:
    """The facts that a fingerprint covers: name and value of each that is known."""
    yield "num_nodes", graph.num_nodes
    yield "directed", graph.directed
    yield "num_classes", graph.num_classes  # names of classes may tell of more than there are
    if graph.x is not None and is_csr(graph.x):
        yield "shape", list(graph.x.shape)
        yield "crow", graph.x.crow_indices().long()
        yield "column", graph.x.col_indices().long()
        yield "values", graph.x.values()
    elif graph.x is not None:
        yield "x", graph.x
    for name in ("edge_index", "edge_weight", "y", "graph_ids", "ratios"):
        value = getattr(graph, name)
        if value is not None:
            yield name, value
    for part in PARTS:
        if graph.split is not None and part in graph.split:
            yield part, distinct(graph.split[part].long())  # the order of nodes means nothing
    for name, pairs in sorted((graph.links or {}).items()):
        yield f"links {name}", pairs.long()
    if graph.table is not None:
        yield "table", graph.table.content()
    yield "ids", "\0".join(map(str, graph.ids.tolist()))


def _ids_or_numbers(ids: np.ndarray | None, num_nodes: int) -> np.ndarray:
    return np.arange(num_nodes) if ids is None else ids
