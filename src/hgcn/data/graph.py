"""The graph that everything else works on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.check import check_graph
from hgcn.data.mapped.arrays import forget
from hgcn.data.neighbours import Neighbours, neighbours
from hgcn.data.pairs import distinct, keys, pairs_at
from hgcn.data.pyg import NAMED, fields_of_pyg
from hgcn.data.sparse import is_csr, select_rows
from hgcn.data.table import FeatureTable
from hgcn.names import PARTS
from hgcn.packages import require
from hgcn.text import count

if TYPE_CHECKING:
    from torch_geometric.data import Data  # type: ignore[import-untyped]


FINGERPRINT = 3
"""The version of ``Graph.fingerprint``: those of different versions cannot be compared."""
BLOCK = 1 << 18
"""Entries of an array, or rows, that are hashed at a time where they have to be copied."""
OF_EDGES = ("edge_index", "num_nodes", "directed", "edge_weight")


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
        self._settle()
        check_graph(self)

    def _settle(self) -> None:
        object.__setattr__(self, "ids", _ids_or_numbers(self.ids, self.num_nodes))
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        for name in ("split", "links"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if self.ratios is not None:
            object.__setattr__(self, "ratios", tuple(map(float, self.ratios)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        # Nobody changes a graph, so one is enough; torch could not copy sparse features anyway.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if "_origin" in self.__dict__:
            origin: tuple[Any, ...] = self.__dict__["_origin"]
            return origin
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

    @classmethod
    def trusted(cls, values: Mapping[str, Any], known: Mapping[str, Any]) -> Graph:
        """A graph of fields that were checked before, and are not read now.

        Args:
            values: the fields.
            known: what is known of the graph already, by the name of the attribute: ``num_edges``,
                ``incoming`` and so on. ``_origin``, a function and its arguments, makes the graph
                anew in another process.
        """
        graph = object.__new__(cls)
        for item in fields(cls):
            value = item.default_factory() if callable(item.default_factory) else item.default
            object.__setattr__(graph, item.name, values.get(item.name, value))
        graph._settle()
        graph.__dict__.update(known)
        return graph

    @cached_property
    def num_edges(self) -> int:
        """Number of edges; an edge of an undirected graph counts once."""
        if self.directed:
            return self.edge_index.shape[1]
        source, target = self.edge_index
        return int((source <= target).sum())

    @cached_property
    def incoming(self) -> Neighbours:
        """The edges that end at each node; of a mapped graph they are on the disk already."""
        source, target = self.edge_index.numpy()
        return neighbours(target, source, self.num_nodes)

    @cached_property
    def outgoing(self) -> Neighbours:
        """The edges that start at each node; of a mapped graph they are on the disk already."""
        source, target = self.edge_index.numpy()
        return neighbours(source, target, self.num_nodes)

    def release(self) -> None:
        """Give back the memory that parts of a mapped graph take, which are read again as needed.

        The system does so by itself when memory is short; until then it counts as that of every
        process that has read them.
        """
        for array in self.__dict__.get("_mapped", ()):
            forget(array)

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
        kept = (
            () if any(name in changes for name in OF_EDGES) else ("incoming", "outgoing", "_mapped")
        )
        known = {name: self.__dict__[name] for name in kept if name in self.__dict__}
        if set(changes) <= {"name", "notes"}:
            values = {item.name: getattr(self, item.name) for item in fields(self)} | changes
            more = {"_fingerprint": self._fingerprint} if "_fingerprint" in self.__dict__ else {}
            return Graph.trusted(values, known | more)
        graph = replace(self, **changes)
        graph.__dict__.update(known)
        return graph

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
            for piece in _content(value) if isinstance(value, Tensor) else value:
                digest.update(piece)
                self.release()
        return digest.hexdigest()

    def to_pyg(self) -> Data:
        """The same graph as a :class:`torch_geometric.data.Data`."""
        data: Data = require("torch_geometric.data", "`to_pyg`").Data(
            x=self.x, edge_index=self.edge_index, y=self.y, num_nodes=self.num_nodes
        )
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


def _facts(graph: Graph) -> Iterator[tuple[str, Tensor | Iterable[bytes]]]:
    """The facts that a fingerprint covers: name and value of each that is known."""
    yield "num_nodes", [f"{graph.num_nodes}\0".encode()]
    yield "directed", [f"{graph.directed}\0".encode()]
    # Names of classes may tell of more than there are.
    yield "num_classes", [f"{graph.num_classes}\0".encode()]
    if graph.x is not None and is_csr(graph.x):
        yield "shape", [f"{list(graph.x.shape)}\0".encode()]
        yield "crow", graph.x.crow_indices()
        yield "column", graph.x.col_indices()
        yield "values", graph.x.values()
    elif graph.x is not None:
        yield "x", graph.x
    for name in ("edge_index", "edge_weight", "y", "graph_ids"):
        value = getattr(graph, name)
        if value is not None:
            yield name, value
    if graph.ratios is not None:
        yield "ratios", [f"{graph.ratios}\0".encode()]
    for part in PARTS:
        if graph.split is not None and part in graph.split:
            yield part, distinct(graph.split[part].long())  # the order of nodes means nothing
    for name, pairs in sorted((graph.links or {}).items()):
        yield f"links {name}", pairs
    if graph.table is not None:
        yield "table", graph.table.content(BLOCK)
    yield "ids", _texts(graph.ids)


def _content(tensor: Tensor) -> Iterator[Any]:
    """Type, shape and bytes of an array; indices count as int64, however they are stored."""
    array = tensor.detach().cpu().numpy()
    short = array.dtype.kind == "i" and array.dtype.itemsize < 8
    dtype = np.dtype(np.int64) if short else array.dtype
    yield f"{dtype.str}{array.shape}".encode()
    if not short and array.flags.c_contiguous:
        content = array.reshape(-1).view(np.uint8)
        for start in range(0, len(content), 256 * BLOCK):
            yield content[start : start + 256 * BLOCK].data
        return
    for row in array if array.ndim == 2 and len(array) == 2 else [array]:
        step = max(1, BLOCK // max(1, math.prod(row.shape[1:])))
        for start in range(0, len(row), step):
            yield np.ascontiguousarray(row[start : start + step], dtype).tobytes()


def _texts(ids: np.ndarray) -> Iterator[bytes]:
    """The ids as text, with a null character between."""
    for start in range(0, len(ids), BLOCK):
        text = "\0".join(map(str, ids[start : start + BLOCK].tolist()))
        yield ("\0" * (start > 0) + text).encode()
    yield b"\0"


def _ids_or_numbers(ids: np.ndarray | None, num_nodes: int) -> np.ndarray:
    return np.arange(num_nodes) if ids is None else ids
