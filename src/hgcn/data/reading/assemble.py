"""Edges, features, labels and columns of nodes, put together to a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from hgcn.data.clean import clean_edges
from hgcn.data.encoding import Encoding
from hgcn.data.graph import Graph
from hgcn.data.pairs import Ints
from hgcn.data.reading.edges import Edges
from hgcn.data.reading.encode import clean_text, encode_classes, plain_column, without_text
from hgcn.data.reading.ids import as_array
from hgcn.data.reading.nodes import (
    Keyed,
    RowValues,
    aligned,
    graph_table,
    missing_ids,
    number_nodes,
    open_table,
    open_values,
)
from hgcn.data.reading.own_split import split_fields
from hgcn.data.sparse import as_features
from hgcn.data.table import FeatureTable
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


@dataclass(frozen=True)
class Given:
    """What is said about the nodes of a source: the keywords of :func:`hgcn.data.read`."""

    nodes: Any = None
    features: Any = None
    feature_columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    date_parts: bool = False
    labels: Any = None
    graph_ids: Any = None
    split: Any = None
    encoding: Encoding | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        values = (getattr(self, item.name) for item in fields(self))
        return all(
            value is None or value is False or (type(value) is tuple and not value)
            for value in values
        )


@dataclass(frozen=True)
class NodeValues:
    """The table of nodes, and the values that features, labels and graph ids are made of."""

    table: Keyed | None
    features: Keyed | RowValues | None
    labels: Keyed | RowValues | None
    groups: Keyed | RowValues | None

    def tables(self) -> list[Keyed]:
        """The tables that tell ids of nodes."""
        return [table for table in (self.table, self.features) if isinstance(table, Keyed)]

    def rows(self) -> list[RowValues]:
        """The arrays with a row for each node."""
        values = (self.features, self.labels, self.groups)
        return [value for value in values if isinstance(value, RowValues)]


def assemble(opened: Opened, given: Given, directed: bool | None) -> dict[str, Any]:
    """The fields of the graph of a source and of the tables and arrays given with it.

    It returns no graph: that would be checked when it is made, and a large graph should be checked
    only once.
    """
    edges = opened.edges
    if directed and edges.directed is False:
        raise DataError(
            f"Expected a graph whose edges have a direction for `directed`, got an undirected one "
            f"({edges.path}). Its edges have no first and second end."
        )
    values = open_nodes(opened.nodes, given)
    own = [] if opened.nodes is None else [opened.nodes]
    ids, ends = number_nodes(edges, opened.num_nodes, [*own, *values.tables()], values.rows())
    found = _node_fields(values, given, ids, edges)
    if "graph_ids" in found:
        _check_groups(found["graph_ids"].numpy(), ids, ends, edges)
    source, target = np.split(ends, 2)
    keep_direction = bool(edges.directed if directed is None else directed)
    edge_index, weight, cleaned = clean_edges(
        source, target, edges.weight, num_nodes=len(ids), directed=keep_direction
    )
    return found | {
        "edge_index": edge_index,
        "num_nodes": len(ids),
        "edge_weight": weight,
        "directed": keep_direction,
        "ids": as_array(ids),
        "notes": (*edges.notes, *found["notes"], *cleaned),
    }


def with_values(graph: Graph, given: Given) -> Graph:
    """A graph that is complete already, with further values for its nodes."""
    table = graph_table(graph)
    values = open_nodes(table, given)
    for rows in values.rows():
        if len(rows) != graph.num_nodes:
            raise DataError(
                f"Expected a row for each of {count(graph.num_nodes, 'node')}, got {len(rows)} "
                f"({rows.path})."
            )
    found = _node_fields(values, given, table.ids, None)
    found["notes"] = (*graph.notes, *found["notes"])
    if values.table is not table:
        found["columns"] = {**graph.columns, **found["columns"]}
    return graph.replace(**found)


def open_nodes(own: Keyed | None, given: Given) -> NodeValues:
    """The values that are named, each from its table; ``own`` is the table of the source."""
    table = own if given.nodes is None else open_table(given.nodes, "`nodes`")
    features = open_values(given.features, table, "features")
    if table is None and isinstance(features, Keyed):
        table = features

    def holder(name: Any) -> Keyed | None:
        """The table with a column that may hold labels or graph ids; that of features as well."""
        inside = isinstance(features, Keyed) and isinstance(name, str) and name in features.columns
        return features if inside else table  # type: ignore[return-value]

    label = given.labels
    if label is None and given.encoding is not None:
        known = given.encoding.label
        found = holder(known)
        label = known if found is not None and known in found.columns else None
    labels = open_values(label, holder(label), "labels")
    groups = open_values(given.graph_ids, holder(given.graph_ids), "graph_ids")
    features = _chosen_columns(features, table, given)
    if isinstance(features, Keyed) and given.encoding is None:
        rest = features.without(labels, groups, *split_column(given, table))
        both = [name for name in features.columns if name not in rest.columns]
        if both and (given.feature_columns or isinstance(given.features, list | tuple)):
            raise DataError(
                f"Expected features other than labels, graph ids and split, got {both[0]!r} as "
                "both: the network would be told what it is to predict."
            )
        features = rest
    return NodeValues(table, features, labels, groups)


def split_column(given: Given, table: Keyed | None) -> list[Keyed]:
    """The column of a table that says the part of each node, if it is one that does."""
    if table is None or not isinstance(given.split, str) or given.split not in table.columns:
        return []
    return [replace(table, columns=(given.split,))]


def _chosen_columns(
    features: Keyed | RowValues | None, table: Keyed | None, given: Given
) -> Keyed | RowValues | None:
    """The columns that are features: those asked for, or those that an encoding knows."""
    wanted: Sequence[str] = given.feature_columns
    if given.encoding is not None:
        wanted = [column.name for column in given.encoding.columns]
    if not (wanted or given.drop or given.text):
        return features
    base = table if features is None else features
    if not isinstance(base, Keyed):
        named = ", ".join((*wanted, *given.drop, *given.text))
        raise DataError(
            f"Expected a table of nodes with the columns {named}, got "
            f"{'none' if base is None else 'an array'}. Give one with `features`."
        )
    for what, names in (("drop", given.drop), ("text", given.text)):
        base.pick(names, what)
    if given.encoding is not None:
        return base.pick(wanted, "features", hint=" The run was trained on these columns.")
    if wanted:
        return base.pick(wanted, "feature_columns")
    if features is None and not given.drop:
        return base.pick(given.text, "text")
    return replace(base, columns=tuple(name for name in base.columns if name not in given.drop))


def _node_fields(
    values: NodeValues, given: Given, ids: pl.Series, edges: Edges | None
) -> dict[str, Any]:
    """The fields of a graph that tell of its nodes, with notes."""
    notes: list[str] = []
    found: dict[str, Any] = {}
    features, labels, groups = values.features, values.labels, values.groups
    columns: dict[str, np.ndarray] = {}
    if values.table is not None:
        used = split_column(given, values.table)
        columns = _columns(values.table.without(features, labels, groups, *used), ids)
    if features is not None:
        label = None
        if isinstance(labels, Keyed) and isinstance(features, Keyed):
            label = labels.columns[0] if labels.frame is features.frame else None
        found |= _features(features, ids, edges, given, label)
        notes += found.pop("notes")
    if labels is not None:
        found["y"], found["class_names"], missing = classes_of(labels, ids, "labels")
        notes += [f"Labels: {count(missing, 'node')} without one."] * bool(missing)
    if groups is not None:
        found["graph_ids"], names, missing = classes_of(groups, ids, "graph ids")
        columns["graph"] = np.array(names)[found["graph_ids"].numpy()]
    if given.split is not None:
        found |= split_fields(given.split, values.table, ids)
    return found | {"columns": columns, "notes": tuple(notes)}


def _check_groups(group: Ints, ids: pl.Series, ends: Ints, edges: Edges) -> None:
    check_groups(group, ids)
    source, target = np.split(group[ends], 2)
    if (source != target).any():
        row = int((source != target).argmax())
        refuse_crossing(edges.location(row), int((source != target).sum()))


def check_groups(group: Ints, ids: pl.Series) -> None:
    """Refuse nodes without a graph id."""
    if (group < 0).any():
        at = int((group < 0).argmax())
        raise DataError(
            f"Expected a graph id for each node, got none for {ids[at]}; "
            f"{count(int((group < 0).sum()), 'such node')}."
        )


def refuse_crossing(where: str, number: int) -> NoReturn:
    """Raise the error for edges between two graphs; ``where`` is the first."""
    raise DataError(
        f"Expected each edge to stay inside one graph, got one between two ({where}); "
        f"{count(number, 'such edge')}."
    )


def _features(
    features: Keyed | RowValues,
    ids: pl.Series,
    edges: Edges | None,
    given: Given,
    label: str | None,
) -> dict[str, Any]:
    if isinstance(features, RowValues):
        x = as_features(features.value, features.path)
        return {"x": x, "feature_names": None, "table": None, "notes": []}
    frame = features.frame
    at = feature_rows(features, ids, edges)
    data = frame.data.select(
        without_text(clean_text(frame.data[name])) for name in features.columns
    )
    text = tuple(name for name in given.text if name in features.columns)
    table = FeatureTable(data[at], frame.path, text, given.date_parts, label)
    location = _location(frame.location, at)
    encoding = given.encoding or Encoding.fit(table, location=location)
    gaps = {name: table.data[name].null_count() for name in table.data.columns}
    notes = notes_on_gaps(encoding, gaps)
    x = encoding(table, location)
    return {"x": x, "feature_names": encoding.names, "table": table, "notes": notes}


def feature_rows(features: Keyed, ids: pl.Series, edges: Edges | None) -> Ints:
    """The row of each node in a table of features; refused where one has none."""
    at = aligned(features, ids, "features")
    if (at < 0).any():
        missing_ids(ids.filter(at < 0), features.frame.path, "features", edges)
    if not features.columns:
        raise DataError(f"Expected columns of features, got none ({features.frame.path}).")
    return at


def notes_on_gaps(encoding: Encoding, missing: Mapping[str, int]) -> list[str]:
    """Sentences on missing values, given their number in each column."""
    return [
        f"Features: {count(missing[column.name], 'missing value')} of {column.name!r} became "
        f"{column.gap}."
        for column in encoding.columns
        if missing[column.name]
    ]


def _location(of_row: Callable[[int], str], at: Ints) -> Callable[[int], str]:
    return lambda row: of_row(int(at[row]))


def classes_of(
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
