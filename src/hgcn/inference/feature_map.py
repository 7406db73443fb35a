"""The map from features of a graph to input of a network, the same for unseen graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from hgcn.data.encoding import Encoding
from hgcn.data.features import DEGREE_NAMES, degree_features
from hgcn.data.graph import Graph
from hgcn.data.sparse import append_columns, last_entries, select_columns
from hgcn.errors import GraphError
from hgcn.kernels.csr import with_values
from hgcn.names import NORMALISATIONS


@dataclass(frozen=True)
class FeatureMap:
    """The map from features of a graph to input of the network, fitted on training nodes only.

    Attributes:
        normalise: a name of ``hgcn.names.NORMALISATIONS``.
        degrees: whether :func:`~hgcn.data.features.degree_features` are added.
        num_raw: number of features of the graph.
        names: names of these features, where they are known.
        mean, scale: the statistics of the normalisation, where it has some; for bins, where they
            begin and how wide they are.
        encoding: how the columns of a table become features, where they come from one.
    """

    normalise: str
    degrees: bool
    num_raw: int
    names: tuple[str, ...] | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None
    encoding: Encoding | None = None

    @classmethod
    def fit(cls, graph: Graph, nodes: Tensor, normalise: str, degrees: bool) -> FeatureMap:
        """The map for a graph, with what the nodes given tell."""
        x, encoding, names = graph.x, None, graph.feature_names
        if graph.table is not None:
            encoding = Encoding.fit(graph.table, nodes)
            x, names = encoding(graph.table), encoding.names
        if x is None:
            return cls(normalise, degrees, 0, names)
        mean, scale = [*NORMALISATIONS.find(normalise).fit(x, nodes), None, None][:2]
        return cls(normalise, degrees, x.shape[1], names, mean, scale, encoding)

    @property
    def num_features(self) -> int:
        """Number of columns of the result."""
        return len(self.raw_owners) + self.num_degrees

    @property
    def raw_owners(self) -> list[int]:
        """For each column that is made of features, the number of the feature."""
        if not self.num_raw:
            return []
        return NORMALISATIONS.find(self.normalise).made_of(self.num_raw, *self.statistics)

    @property
    def owners(self) -> list[int]:
        """The same for all columns of the result; degrees come after the features."""
        return [*self.raw_owners, *range(self.num_raw, self.num_raw + self.num_degrees)]

    @property
    def num_degrees(self) -> int:
        """Number of columns that are made of degrees."""
        return len(DEGREE_NAMES) * self.degrees

    @property
    def statistics(self) -> list[Tensor]:
        """What the normalisation has learnt."""
        return [value for value in (self.mean, self.scale) if value is not None]

    def __call__(self, graph: Graph, edge_index: Tensor | None = None) -> Tensor:
        """The input of the network; degrees are counted on ``edge_index`` if it is given."""
        x = self._raw(graph) if self.num_raw else None
        if x is not None:
            x = NORMALISATIONS.find(self.normalise).apply(x, *self.statistics)
        if self.degrees or x is None:
            edges = graph.edge_index if edge_index is None else edge_index
            more = degree_features(edges, graph.num_nodes, directed=graph.directed)
            x = more if x is None else append_columns(x, more)
        return x

    def _raw(self, graph: Graph) -> Tensor:
        """The features of a graph before they are scaled."""
        if self.encoding is None:
            order = self._check(graph)
            x = cast(Tensor, graph.x)
            return x if order is None else select_columns(x, order)
        if graph.table is None:
            columns = ", ".join(column.name for column in self.encoding.columns)
            raise GraphError(
                f"Expected a table with the columns {columns}, as the network was trained on, got "
                f"{'an array of' if graph.num_features else 'no'} features. Give the table with "
                "`features`."
            )
        path = graph.table.path
        return self.encoding(graph.table, lambda row: f"{path}, node {graph.ids[row]}")

    def _check(self, graph: Graph) -> list[int] | None:
        """Refuse other features; the position of each feature, if they come in another order."""
        if graph.num_features != self.num_raw:
            raise GraphError(
                f"Expected {self.num_raw} features, as the network was trained on, got "
                f"{graph.num_features}.{self._difference(graph)}"
            )
        ours, theirs = self.names, graph.feature_names
        if not ours or not theirs or ours == theirs:
            return None
        position = {name: at for at, name in enumerate(theirs)}
        if len(position) < len(theirs) or set(position) != set(ours):
            raise GraphError(
                "Expected the features that the network was trained on, got others."
                f"{self._difference(graph)}"
            )
        return [position[name] for name in ours]

    def _difference(self, graph: Graph) -> str:
        """A phrase with the names of missing and unknown features, where both have names."""
        ours, theirs = self.names or (), graph.feature_names or ()
        lists = {
            "Missing": [name for name in ours if name not in theirs],
            "Unknown": [name for name in theirs if name not in ours],
        }
        if not ours or not theirs:
            return ""
        return "".join(
            f" {word}: {', '.join(names[:8])}." for word, names in lists.items() if names
        )

    def to_tree(self) -> dict[str, Any]:
        """The map as a dictionary of tensors, numbers and strings, for storage."""
        names = None if self.names is None else list(self.names)
        encoding = None if self.encoding is None else self.encoding.to_tree()
        return {**self.__dict__, "names": names, "encoding": encoding}

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> FeatureMap:
        """The inverse of :meth:`to_tree`."""
        names, encoding = tree["names"], tree.get("encoding")
        tree = {**tree, "names": None if names is None else tuple(names)}
        return cls(**{**tree, "encoding": encoding and Encoding.from_tree(encoding)})


def replace_last_columns(x: Tensor, new: Tensor) -> Tensor:
    """A matrix with other last columns; in a CSR matrix all their entries must be stored."""
    width = new.shape[1]
    if x.layout != torch.sparse_csr:
        return torch.cat((x[:, :-width], new.to(x)), dim=1)
    values = x.values().clone()
    values[last_entries(x.crow_indices(), width)] = new.to(values)
    return with_values(x, values)
