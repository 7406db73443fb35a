"""The parts of a graph, written as arrays, and the file that describes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

import hgcn
from hgcn.data.check import check_graph
from hgcn.data.graph import FINGERPRINT, Graph
from hgcn.data.mapped.arrays import describe, open_array, write_array
from hgcn.data.mapped.columns import write_column
from hgcn.data.mapped.load import FORMAT, graph_of
from hgcn.data.neighbours import short
from hgcn.data.sparse import is_csr
from hgcn.data.table import FeatureTable

PLAIN = ("num_nodes", "directed", "class_names", "feature_names", "ratios", "name", "notes")
"""Fields that the description holds as they are."""


def write_graph(graph: Graph, folder: Path) -> dict[str, Any]:
    """Write the arrays of a graph that is in memory; returns the description of its fields."""
    write_array(folder / "edge_index.npy", graph.edge_index.numpy())
    if graph.edge_weight is not None:
        write_array(folder / "edge_weight.npy", graph.edge_weight.numpy())
    names = ("start", "node", "edge")
    both = not graph.directed and all(
        np.array_equal(out, back)
        for out, back in zip(graph.outgoing[:2], graph.incoming[:2], strict=True)
    )
    for which, rows in {"out": graph.outgoing, "in": graph.incoming}.items():
        for name, values in zip(names, rows, strict=True):
            if values is not None and not (both and which == "in"):
                write_array(folder / f"{which}-{name}.npy", values)
    fields = {name: getattr(graph, name) for name in PLAIN}
    for name in ("y", "graph_ids", "split", "links", "columns"):
        fields[name] = getattr(graph, name)
    if not np.array_equal(graph.ids, np.arange(graph.num_nodes)):
        write_array(folder / "ids.npy", _array(graph.ids))
    if graph.x is not None:
        fields["num_features"] = write_features(folder, graph.x)
    if graph.table is not None:
        columns = {}
        for at, name in enumerate(graph.table.data.columns):
            columns[name] = f"table-{at}"
            write_column(folder, columns[name], graph.table.data.get_column(name))
        fields["table"] = about_table(graph.table, columns)
    return write_fields(folder, fields)


def write_features(folder: Path, x: Tensor) -> int:
    """Write features, dense or sparse; returns the number of columns."""
    if not is_csr(x):
        write_array(folder / "x.npy", x.numpy())
        return x.shape[1]
    index = short(max(x.shape[1], x.values().numel()))
    write_array(folder / "x-start.npy", x.crow_indices().numpy().astype(index))
    write_array(folder / "x-column.npy", x.col_indices().numpy().astype(index))
    write_array(folder / "x-value.npy", x.values().numpy())
    return x.shape[1]


def about_table(table: FeatureTable, columns: Mapping[str, str]) -> dict[str, Any]:
    """The description of a feature table, whose columns are in files with these stems."""
    return {
        "path": table.path,
        "text": list(table.text),
        "date_parts": table.date_parts,
        "label": table.label,
        "columns": dict(columns),
    }


def write_fields(folder: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Write the fields that have a value for each node or pair; returns their description."""
    about: dict[str, Any] = {name: fields.get(name) for name in (*PLAIN, "table", "num_features")}
    about["directed"], about["notes"] = bool(about["directed"]), list(about["notes"] or ())
    for name in ("y", "graph_ids"):
        if fields.get(name) is not None:
            write_array(folder / f"{name}.npy", _array(fields[name]))
    for name in ("split", "links"):
        lists = fields.get(name)
        about[name] = None if lists is None else {}
        for at, (key, values) in enumerate((lists or {}).items()):
            about[name][key] = f"{name}-{at}.npy"
            write_array(folder / about[name][key], _array(values))
    about["columns"] = {}
    for at, (key, values) in enumerate((fields.get("columns") or {}).items()):
        about["columns"][key] = f"column-{at}.npy"
        if values is not None:  # else it is there already
            write_array(folder / about["columns"][key], _array(values))
    return about


def describe_graph(folder: Path, about: dict[str, Any], made_from: str) -> dict[str, Any]:
    """The whole description of a graph whose arrays are written, with their checksums."""
    names = sorted(path.name for path in folder.glob("*.npy"))
    about = {"format": FORMAT, "hgcn": hgcn.__version__, "made_from": made_from, **about}
    about["arrays"] = {name: describe(folder / name) for name in names}
    arrays = {name: open_array(folder / name, what) for name, what in about["arrays"].items()}
    graph = graph_of({**about, "num_edges": 0}, arrays)
    del graph.__dict__["num_edges"]
    check_graph(graph)
    about["num_edges"] = graph.num_edges
    about["fingerprint_version"], about["fingerprint"] = FINGERPRINT, graph.fingerprint()
    return about


def _array(values: Any) -> NDArray[Any]:
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.dtype.kind in "OT":  # text of the caller's own making
        array = np.array([str(value) for value in array.tolist()])
    return array
