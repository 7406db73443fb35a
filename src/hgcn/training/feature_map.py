"""How features of a graph become input of a network, the same way for unseen graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hgcn.data.features import (
    DEGREE_NAMES,
    append_columns,
    column_scales,
    degree_features,
    divide_rows,
    logarithm,
    scale_columns,
)
from hgcn.data.graph import Graph, select_rows
from hgcn.errors import GraphError


@dataclass(frozen=True)
class FeatureMap:
    """How features of a graph become input of the network; fitted on training nodes only.

    Attributes:
        normalise: "none", "row", "standard" or "log".
        degrees: whether :func:`~hgcn.data.features.degree_features` are added.
        num_raw: number of features of the graph before.
        names: names of these features, where they are known.
        mean, scale: what "standard" subtracts and then divides by.
    """

    normalise: str
    degrees: bool
    num_raw: int
    names: tuple[str, ...] | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None

    @classmethod
    def fit(cls, graph: Graph, nodes: Tensor, normalise: str, degrees: bool) -> FeatureMap:
        """The map for a graph, with the statistics of the nodes given."""
        if normalise != "standard" or graph.x is None:
            return cls(normalise, degrees, graph.num_features, graph.feature_names)
        mean, scale = column_scales(select_rows(graph.x, nodes))
        return cls(normalise, degrees, graph.num_features, graph.feature_names, mean, scale)

    @property
    def num_features(self) -> int:
        """Number of columns of the result."""
        return self.num_raw + len(DEGREE_NAMES) * self.degrees

    def __call__(self, graph: Graph, edge_index: Tensor | None = None) -> Tensor:
        """Input of the network; degrees are counted on ``edge_index`` if it is given."""
        self._check(graph)
        x = graph.x if self.num_raw else None
        if x is not None:
            x = self._normalise(x)
        if self.degrees or x is None:
            edges = graph.edge_index if edge_index is None else edge_index
            more = degree_features(edges, graph.num_nodes, directed=graph.directed)
            x = more if x is None else append_columns(x, more)
        return x

    def _normalise(self, x: Tensor) -> Tensor:
        if self.normalise == "row":
            return divide_rows(x)
        if self.normalise == "log":
            return logarithm(x)
        if self.mean is not None and self.scale is not None:
            return scale_columns(x, self.mean, self.scale)
        return x

    def _check(self, graph: Graph) -> None:
        if graph.num_features != self.num_raw:
            raise GraphError(
                f"Expected {self.num_raw} features, as the network was trained on, got "
                f"{graph.num_features}.{self._difference(graph)}"
            )
        if self.names and graph.feature_names and self.names != graph.feature_names:
            place = next(
                i
                for i, (ours, theirs) in enumerate(
                    zip(self.names, graph.feature_names, strict=True)
                )
                if ours != theirs
            )
            raise GraphError(
                f"Expected feature {place} to be {self.names[place]!r}, as in training, got "
                f"{graph.feature_names[place]!r}."
            )

    def _difference(self, graph: Graph) -> str:
        """Which features are missing or unknown, where both have names."""
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
        """For storage."""
        names = None if self.names is None else list(self.names)
        return {**self.__dict__, "names": names}

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> FeatureMap:
        """The inverse of :meth:`to_tree`."""
        names = tree["names"]
        return cls(**{**tree, "names": None if names is None else tuple(names)})
