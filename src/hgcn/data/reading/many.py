"""Many graphs combined to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.encoding import Encoding
from hgcn.data.graph import Graph
from hgcn.data.sparse import stack_rows
from hgcn.data.table import FeatureTable, stack_tables
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
        # Of tables only the columns must be alike: categories may differ from graph to graph.
        names = () if _tables(graphs) else ("num_features", "feature_names")
        for field in ("directed", "class_names", *names):
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
        if graph.links is not None:
            raise GraphError(
                "Expected many graphs to be split by whole graphs, got one with a split of its "
                "own pairs."
            )
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    groups = [graph.graph_ids for graph in graphs]
    features = _features(graphs)
    shifts = np.cumsum([0, *(graph.num_graphs for graph in graphs)])
    return Graph(
        torch.cat([g.edge_index + int(s) for g, s in zip(graphs, starts, strict=False)], dim=1),
        int(starts[-1]),
        **features,
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


def _tables(graphs: Sequence[Graph]) -> list[FeatureTable]:
    """The tables of all graphs; none if a graph lacks one, or has other columns."""
    tables = [graph.table for graph in graphs if graph.table is not None]
    columns = {tuple(sorted(table.data.columns)) for table in tables}
    return tables if len(tables) == len(graphs) and len(columns) == 1 else []


def _features(graphs: Sequence[Graph]) -> dict[str, Any]:
    """Features of all graphs, one below the other; those from tables are encoded anew."""
    tables = _tables(graphs)
    if tables:
        table = stack_tables(tables)
        encoding = Encoding.fit(table)
        return {"x": encoding(table), "feature_names": encoding.names, "table": table}
    x = [graph.x for graph in graphs if graph.x is not None]
    return {"x": stack_rows(x) if x else None, "feature_names": graphs[0].feature_names}


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
