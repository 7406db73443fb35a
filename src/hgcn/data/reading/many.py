"""Many graphs combined to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.sparse import stack_rows
from hgcn.errors import GraphError


def combine(graphs: Sequence[Graph], name: str = "graph") -> Graph:
    """Many graphs as one, with ``graph_ids`` 0, 1, ... in their order.

    Example:
        >>> import networkx
        >>> from hgcn.data import as_graph
        >>> combine([as_graph(networkx.path_graph(3)), as_graph(networkx.path_graph(2))])
        Graph(5 nodes, 3 edges, 2 graphs)
    """
    if not graphs:
        raise GraphError("Expected at least one graph, got an empty list.")
    first = graphs[0]
    for at, graph in enumerate(graphs):
        for field in ("directed", "num_features", "feature_names", "class_names"):
            if getattr(graph, field) != getattr(first, field):
                raise GraphError(
                    f"Expected graphs alike, got `{field}` {getattr(first, field)} in graph 0 and "
                    f"{getattr(graph, field)} in graph {at}."
                )
        for field in ("y", "edge_weight"):
            if (getattr(graph, field) is None) != (getattr(first, field) is None):
                raise GraphError(
                    f"Expected all graphs or none to have `{field}`, got it in some only."
                )
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    groups = [graph.graph_ids for graph in graphs]
    features = [graph.x for graph in graphs if graph.x is not None]
    shifts = np.cumsum([0, *(graph.num_graphs for graph in graphs)])
    return Graph(
        torch.cat([g.edge_index + int(s) for g, s in zip(graphs, starts, strict=False)], dim=1),
        int(starts[-1]),
        x=stack_rows(features) if features else None,
        y=_cat([graph.y for graph in graphs]),
        edge_weight=_cat([graph.edge_weight for graph in graphs]),
        directed=first.directed,
        ids=_cat_ids([graph.ids for graph in graphs]),
        graph_ids=torch.cat(
            [
                (torch.zeros(g.num_nodes, dtype=torch.int64) if ids is None else ids) + int(shift)
                for g, ids, shift in zip(graphs, groups, shifts, strict=False)
            ]
        ),
        feature_names=first.feature_names,
        class_names=first.class_names,
        columns={
            key: np.concatenate([graph.columns[key] for graph in graphs])
            for key in first.columns
            if all(key in graph.columns for graph in graphs)
        },
        split=_cat_splits(graphs, starts),
        ratios=first.ratios if len({graph.ratios for graph in graphs}) == 1 else None,
        name=name,
        notes=tuple(dict.fromkeys(note for graph in graphs for note in graph.notes)),
    )


def _cat(tensors: Sequence[Tensor | None]) -> Tensor | None:
    given = [tensor for tensor in tensors if tensor is not None]
    return torch.cat(given) if given else None


def _cat_ids(arrays: Sequence[np.ndarray]) -> np.ndarray:
    if len({array.dtype.kind for array in arrays}) > 1:
        arrays = [array.astype(np.str_) for array in arrays]
    return np.concatenate(arrays)


def _cat_splits(graphs: Sequence[Graph], starts: Any) -> dict[str, Tensor] | None:
    split: dict[str, list[Tensor]] = {}
    for graph, start in zip(graphs, starts, strict=False):
        for part, nodes in (graph.split or {}).items():
            split.setdefault(part, []).append(nodes + int(start))
    return {part: torch.cat(nodes) for part, nodes in split.items()} or None
