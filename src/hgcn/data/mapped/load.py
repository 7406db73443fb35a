"""A graph whose arrays stay on the disk: mapped read-only, so that processes share one copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hgcn.data.check import check_graph
from hgcn.data.graph import FINGERPRINT, Graph
from hgcn.data.mapped.arrays import as_tensor, checksum, open_array
from hgcn.data.mapped.columns import MappedColumns
from hgcn.data.neighbours import Neighbours
from hgcn.data.sparse import csr_matrix
from hgcn.data.table import FeatureTable
from hgcn.errors import DataError, GraphError, RunError
from hgcn.files import parse_json, reading

FORMAT = 1
ABOUT = "graph.json"
"""The file that lists the arrays and says what they are; it is written last."""
SMALL = 1 << 26
"""Folders of up to so many bytes are compared with their checksums whenever they are loaded."""

Arrays = Mapping[str, NDArray[Any]]


def is_mapped(folder: Path) -> bool:
    """Whether a folder holds a graph that `hgcn convert` made."""
    return os.path.isfile(folder / ABOUT)  # noqa: PTH113  # pathlib raises an error for absurd names


def load_mapped(folder: str | Path) -> Graph:
    """The graph in a folder that :func:`hgcn.data.mapped.build.convert` made.

    Arrays are mapped, not read. A large folder is refused only if its headers or sizes are wrong;
    :func:`check_folder` compares the contents of all files with their checksums.
    """
    folder = Path(folder)
    about = read_about(folder)
    arrays = {name: open_array(folder / name, what) for name, what in about["arrays"].items()}
    if sum(array.nbytes for array in arrays.values()) <= SMALL:
        _compare(folder, about)
    try:
        return graph_of(about, arrays, (load_mapped, (folder.resolve(),)))
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"Expected {folder / ABOUT} to describe a graph, got: {reason}. Was it changed? "
            "Convert the source again."
        ) from None


def read_about(folder: Path) -> dict[str, Any]:
    """The content of ``graph.json``, as far as every graph has it."""
    path = folder / ABOUT
    try:
        with reading(path) as file:
            about = parse_json(file.read())
    except RunError as error:
        raise DataError(str(error)) from None
    except ValueError as error:
        raise DataError(f"Expected JSON, got something else ({path}): {error}.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise DataError(
            f"Expected a graph of format {FORMAT}, got something else ({path}). Was it made by "
            "another version of hgcn?"
        )
    arrays = about.get("arrays")
    if not isinstance(arrays, dict) or not all(_is_plain(name) for name in arrays):
        raise DataError(f"Expected a list of arrays in {path}, got {arrays!r:.40}.")
    return about


def _is_plain(name: str) -> bool:
    return name.endswith(".npy") and not {"/", "\\", "\0"} & set(name)


def check_folder(folder: str | Path) -> int:
    """Compare all arrays with their checksums and their graph with the rules; returns the bytes."""
    folder = Path(folder)
    if not is_mapped(folder):
        raise DataError(
            f"Expected a folder that `hgcn convert` made, got none: there is no {folder / ABOUT}."
        )
    about, known = read_about(folder), load_mapped(folder).fingerprint()
    total = _compare(folder, about)
    arrays = {name: open_array(folder / name, what) for name, what in about["arrays"].items()}
    graph = graph_of({**about, "fingerprint_version": None}, arrays)
    try:
        check_graph(graph)
    except GraphError as error:
        raise DataError(f"Expected {folder} to hold a graph, but: {error}") from None
    if about.get("fingerprint_version") == FINGERPRINT and graph.fingerprint() != known:
        raise DataError(
            f"Expected the fingerprint {known[:12]}..., as {folder / ABOUT} has it, got "
            f"{graph.fingerprint()[:12]}.... Convert the source again."
        )
    return total


def _compare(folder: Path, about: Mapping[str, Any]) -> int:
    total = 0
    for name, what in about["arrays"].items():
        total += (folder / name).stat().st_size
        if checksum(folder / name) != what.get("sha256"):
            raise DataError(
                f"Expected {folder / name} as `hgcn convert` left it, but it was changed or "
                "damaged since. Convert the source again."
            )
    return total


def graph_of(about: Mapping[str, Any], arrays: Arrays, origin: Any = None) -> Graph:
    """The graph that a description and its arrays make."""
    n = int(about["num_nodes"])
    edge_index = as_tensor(arrays["edge_index.npy"])
    num_edges = edge_index.shape[1]
    _expect(edge_index.shape[0] == 2 and n >= 1, "edges in two rows")
    lengths = {"edge_weight": num_edges, "ids": n, "y": n, "graph_ids": n, "x": n}
    for name, length in lengths.items():
        array = arrays.get(f"{name}.npy")
        _expect(array is None or len(array) == length, f"{length} entries in {name}.npy")
    values: dict[str, Any] = {
        name: as_tensor(arrays[f"{name}.npy"])
        for name in ("edge_weight", "y", "graph_ids")
        if f"{name}.npy" in arrays
    }
    values |= {"edge_index": edge_index, "num_nodes": n, "x": _features(about, arrays)}
    values["ids"] = arrays.get("ids.npy")
    values["columns"] = {name: arrays[file] for name, file in about["columns"].items()}
    _expect(all(len(column) == n for column in values["columns"].values()), "a value for each node")
    for name in ("split", "links"):
        lists = about[name]
        if lists is not None:
            values[name] = {key: as_tensor(arrays[file]) for key, file in lists.items()}
    for name in ("class_names", "feature_names", "ratios"):
        values[name] = None if about[name] is None else tuple(about[name])
    table = about["table"]
    if table is not None:
        stored = MappedColumns(n, table["columns"], arrays)
        choices = tuple(table["text"]), table["date_parts"], table["label"]
        values["table"] = FeatureTable(stored, table["path"], *choices)
    values |= {"directed": bool(about["directed"]), "name": str(about["name"])}
    values["notes"] = tuple(about["notes"])
    known: dict[str, Any] = {"num_edges": int(about["num_edges"])}
    known["outgoing"] = _neighbours("out", arrays, n, num_edges)
    both = "in-start.npy" not in arrays  # an edge and its reverse: one list tells both
    known["incoming"] = known["outgoing"] if both else _neighbours("in", arrays, n, num_edges)
    if about.get("fingerprint_version") == FINGERPRINT:
        known["_fingerprint"] = str(about["fingerprint"])
    known["_mapped"] = tuple(arrays.values())
    if origin is not None:
        known["_origin"] = origin
    return Graph.trusted(values, known)


def _features(about: Mapping[str, Any], arrays: Arrays) -> Any:
    if "x.npy" in arrays:
        _expect(
            arrays["x.npy"].dtype == np.float32 and arrays["x.npy"].ndim == 2, "float32 in x.npy"
        )
        return as_tensor(arrays["x.npy"])
    if "x-start.npy" not in arrays:
        return None
    crow, column, values = (
        as_tensor(arrays[f"x-{part}.npy"]) for part in ("start", "column", "value")
    )
    shape = (int(about["num_nodes"]), int(about["num_features"]))
    _expect(len(crow) == shape[0] + 1 and len(column) == len(values), "whole rows of features")
    return csr_matrix(crow, column, values, shape, checked=False)


def _neighbours(which: str, arrays: Arrays, n: int, num_edges: int) -> Neighbours:
    start, node = arrays[f"{which}-start.npy"], arrays[f"{which}-node.npy"]
    _expect(len(start) == n + 1 and len(node) == num_edges, f"{which}-node.npy for all edges")
    return Neighbours(start, node, arrays.get(f"{which}-edge.npy"))


def _expect(holds: bool, expected: str) -> None:
    if not holds:
        raise ValueError(f"no {expected}")
