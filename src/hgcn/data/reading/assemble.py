"""Edges, features, labels and columns of nodes, put together to a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.clean import clean_edges
from hgcn.data.graph import Graph
from hgcn.data.pairs import Ints
from hgcn.data.reading.edges import Edges
from hgcn.data.reading.encode import encode_classes, encode_features, plain_column
from hgcn.data.reading.ids import as_array
from hgcn.data.reading.nodes import (
    Keyed,
    RowValues,
    aligned,
    missing_ids,
    number_nodes,
    open_table,
    open_values,
)
from hgcn.data.sparse import as_features
from hgcn.errors import DataError
from hgcn.text import count

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Opened:
    """A source that was opened: its edges and, where it has them, its nodes.

    ``num_nodes`` is given where edges hold numbers of nodes rather than ids.
    """

    edges: Edges
    num_nodes: int | None = None
    nodes: Keyed | None = None


def assemble(opened: Opened, given: Mapping[str, Any], directed: bool | None) -> dict[str, Any]:
    """The fields of the graph of a source and of the tables and arrays given with it.

    It returns no graph: that would be checked when it is made, and a large graph should be checked
    only once.
    """
    edges = opened.edges
    table = opened.nodes if given["nodes"] is None else open_table(given["nodes"])
    features = open_values(given["features"], table, "features")
    if table is None and isinstance(features, Keyed):
        table = features  # the only table: labels and graph ids may be columns of it
    labels = open_values(given["labels"], table, "labels")
    groups = open_values(given["graph_ids"], table, "graph_ids")
    if features is table and table is not None:
        features = table.without(labels, groups)
    tables = [t for t in (opened.nodes, table, features) if isinstance(t, Keyed)]
    rows = [values for values in (features, labels, groups) if isinstance(values, RowValues)]
    ids, ends = number_nodes(edges, opened.num_nodes, tables, rows)

    notes = list(edges.notes)
    fields: dict[str, Any] = {}
    columns = {} if table is None else _columns(table.without(features, labels, groups), ids)
    if features is not None:
        fields["x"], fields["feature_names"], remarks = _features(features, ids, edges)
        notes += remarks
    if labels is not None:
        fields["y"], fields["class_names"], missing = _classes(labels, ids, "labels")
        notes += [f"Labels: {count(missing, 'node')} without one."] * bool(missing)
    if groups is not None:
        fields["graph_ids"], names, missing = _classes(groups, ids, "graph ids")
        _check_groups(fields["graph_ids"].numpy(), ids, ends, edges)
        columns["graph"] = np.array(names)[fields["graph_ids"].numpy()]
    source, target = np.split(ends, 2)
    keep_direction = bool(edges.directed if directed is None else directed)
    edge_index, weight, cleaned = clean_edges(
        source, target, edges.weight, num_nodes=len(ids), directed=keep_direction
    )
    return fields | {
        "edge_index": edge_index,
        "num_nodes": len(ids),
        "edge_weight": weight,
        "directed": keep_direction,
        "ids": as_array(ids),
        "columns": columns,
        "notes": (*notes, *cleaned),
    }


def with_rows(graph: Graph, given: Mapping[str, Any]) -> Graph:
    """A graph that is complete already, with further values for its nodes."""
    fields: dict[str, Any] = {}
    for what, value in given.items():
        values = open_values(value, None, what)
        if values is None:
            continue
        if isinstance(values, Keyed):
            raise DataError(
                f"Expected `{what}` in rows next to a graph, got a table ({values.frame.path}). "
                "Give the edges as arrays or a file to match ids."
            )
        if len(values) != graph.num_nodes:
            raise DataError(
                f"Expected a row for each of {count(graph.num_nodes, 'node')}, got {len(values)} "
                f"({values.path})."
            )
        if what == "features":
            fields |= {"x": as_features(values.value, values.path), "feature_names": None}
        else:
            classes, names, _ = _classes_of_rows(values, what)
            labels = {"y": classes, "class_names": names}
            fields |= labels if what == "labels" else {"graph_ids": classes}
    return graph.replace(**fields)


def _check_groups(group: Ints, ids: pl.Series, ends: Ints, edges: Edges) -> None:
    if (group < 0).any():
        at = int((group < 0).argmax())
        raise DataError(
            f"Expected a graph id for each node, got none for {ids[at]}; "
            f"{count(int((group < 0).sum()), 'such node')}."
        )
    source, target = np.split(group[ends], 2)
    if (source != target).any():
        row = int((source != target).argmax())
        raise DataError(
            f"Expected each edge to stay inside one graph, got one between two "
            f"({edges.location(row)}); {count(int((source != target).sum()), 'such edge')}."
        )


def _features(
    features: Keyed | RowValues, ids: pl.Series, edges: Edges
) -> tuple[Tensor, tuple[str, ...] | None, list[str]]:
    if isinstance(features, RowValues):
        return as_features(features.value, features.path), None, []
    at = aligned(features, ids, "features")
    if (at < 0).any():
        missing_ids(ids.filter(at < 0), features.frame.path, "features", edges)
    if not features.columns:
        raise DataError(f"Expected columns of features, got none ({features.frame.path}).")
    x, names, notes = encode_features(features.frame, features.columns)
    return x[torch.from_numpy(at)], names, notes


def _classes(
    values: Keyed | RowValues, ids: pl.Series, what: str
) -> tuple[Tensor, tuple[str, ...], int]:
    """Class of each node, names of classes, number of nodes without one."""
    if isinstance(values, RowValues):
        return _classes_of_rows(values, what)
    frame = values.frame
    if len(values.columns) != 1:
        raise DataError(
            f"Expected {what} in a table of two columns, the id and one more, got "
            f"{', '.join(values.columns) or 'nothing'} beside the id ({frame.path}). "
            "Choose one: Table(path, columns=(id, column))."
        )
    at = torch.from_numpy(aligned(values, ids, what))
    y, names, _ = encode_classes(frame.data.get_column(values.columns[0]), frame.location)
    y = torch.where(at < 0, -1, y[at])
    return y, names, int((y < 0).sum())


def _classes_of_rows(values: RowValues, what: str) -> tuple[Tensor, tuple[str, ...], int]:
    import polars as pl

    array = np.asarray(values.value)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1 or array.dtype.kind not in "biufUTO":
        raise DataError(
            f"Expected {what} to be one value for each node, got {array.dtype} of shape "
            f"{list(array.shape)} ({values.path})."
        )
    if array.dtype.kind in "UTO":
        column = pl.Series([None if value is None else str(value) for value in array.tolist()])
    else:
        column = pl.Series(array)
    return encode_classes(column, lambda row: f"{values.path}, row {row}")


def _columns(table: Keyed, ids: pl.Series) -> dict[str, np.ndarray]:
    at = aligned(table, ids, "a table")
    return {name: plain_column(table.frame.data.get_column(name), at) for name in table.columns}
