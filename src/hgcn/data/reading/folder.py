"""A graph in a folder of files with fixed names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from hgcn.data.reading.assemble import Given, Opened, assemble
from hgcn.data.reading.bounds import load_json
from hgcn.data.reading.edges import edges_from_table
from hgcn.data.reading.tables import Table
from hgcn.errors import DataError
from hgcn.names import PARTS

FILES = {
    "edges": ("edges.csv", "edges.tsv", "edges.txt", "edges.parquet", "edges.csv.gz"),
    "nodes": ("nodes.csv", "nodes.tsv", "nodes.parquet"),
    "features": ("features.npz", "features.npy", "features.csv", "features.parquet"),
    "labels": ("labels.npy", "labels.csv", "labels.parquet"),
    "graph_ids": ("graph_ids.npy", "graph_ids.csv", "graph_ids.parquet"),
    "split": ("split.json",),
}
"""The contents of a folder, and for each the names that its file may have."""

OF_NODES = ("nodes", "features", "labels", "graph_ids")
NOTHING: Mapping[str, Any] = MappingProxyType({})


def folder_fields(
    folder: Path,
    *,
    given: Given | None = None,
    directed: bool | None = None,
    instead: Mapping[str, str] = NOTHING,
    num_nodes: int | None = None,
) -> dict[str, Any]:
    """The fields of the graph in a folder, except its name.

    Args:
        folder: a folder with files of the names in :data:`FILES`.
        given: what the caller says about nodes, which wins over files of the folder.
        directed: whether direction means something.
        instead: unusual names of files, by what they hold: "edges", "labels", ...
        num_nodes: number of nodes of a graph that has nothing but edges; the edges then hold
            numbers of nodes.
    """
    files, given = folder_given(folder, given or Given(), instead)
    edges = edges_from_table(Table(files["edges"]))
    only_edges = all(getattr(given, what) is None for what in OF_NODES)
    fields = assemble(Opened(edges, num_nodes if only_edges else None), given, directed)
    if "split" in files and given.split is None:
        fields |= json_split_fields(files["split"], fields)
    return fields


def folder_given(
    folder: Path, given: Given, instead: Mapping[str, str] = NOTHING
) -> tuple[dict[str, Path], Given]:
    """The files of a folder, and what is said of its nodes by them and by the caller, who wins."""
    files = folder_files(folder, instead)
    own = {what: files.get(what) for what in OF_NODES}
    if given.feature_columns:
        own["features"] = None  # these are columns of the table of nodes
    values: dict[str, Any] = {
        what: value for what, value in own.items() if getattr(given, what) is None
    }
    return files, replace(given, **values)


def holds_edges(folder: Path, instead: Mapping[str, str] = NOTHING) -> bool:
    """Whether there is a folder with a file of edges."""
    names = [instead["edges"]] if "edges" in instead else FILES["edges"]
    return any((folder / name).is_file() for name in names)


def folder_files(folder: Path, instead: Mapping[str, str] = NOTHING) -> dict[str, Path]:
    """The files of a folder by what they hold."""
    files = {what: folder / name for what, name in instead.items()}
    for what, names in FILES.items():
        if what in instead:
            continue
        found = [folder / name for name in names if (folder / name).is_file()]
        if len(found) > 1:
            raise DataError(
                f"Expected one file of {what} in {folder}, got {', '.join(p.name for p in found)}. "
                "Remove all but one, or read the files by themselves."
            )
        if found:
            files[what] = found[0]
    if "edges" not in files:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:5])
        raise DataError(
            f"Expected a file edges.csv in the folder {folder}, got {there or 'nothing'}. "
            "Give the path of the edge list itself if it has another name."
        )
    return files


def json_split_fields(path: Path, graph: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a graph that a ``split.json`` sets: parts by node, or by whole graphs."""
    content = load_json(path)
    keys = [key for part in PARTS for key in (part, f"{part}_graphs")]
    if not isinstance(content, dict) or not any(key in content for key in keys):
        raise DataError(
            f"Expected an object with lists {', '.join(PARTS)}, or with {PARTS[0]}_graphs and so "
            f"on, got {content!r:.40} ({path})."
        )
    graph_ids = graph.get("graph_ids")
    num_graphs = 1 if graph_ids is None or not len(graph_ids) else int(graph_ids.max()) + 1
    split = {}
    by_node = any(part in content for part in PARTS)
    number = {node: at for at, node in enumerate(graph["ids"].tolist())} if by_node else {}
    for part in PARTS:
        if part in content:
            known = [number.get(node) for node in _list(content, part, path)]
            if None in known:
                stray = content[part][known.index(None)]
                raise DataError(
                    f"Expected nodes of the graph in {part!r}, got {stray!r:.40} ({path})."
                )
            split[part] = torch.tensor(known, dtype=torch.int64)
        elif f"{part}_graphs" in content:
            chosen = _list(content, f"{part}_graphs", path)
            if graph_ids is None or not all(at in range(num_graphs) for at in chosen):
                raise DataError(
                    f"Expected graphs 0..{num_graphs - 1} in '{part}_graphs', got {chosen!r:.40} "
                    f"({path}). Is there a file graph_ids.npy?"
                )
            inside = torch.isin(graph_ids, torch.tensor(chosen, dtype=torch.int64))
            split[part] = inside.nonzero()[:, 0]
    fields: dict[str, Any] = {"split": split}
    if content.get("graph_names") is not None and graph_ids is not None:
        names = _list(content, "graph_names", path)
        if len(names) != num_graphs:
            raise DataError(
                f"Expected a name for each of {num_graphs} graphs in 'graph_names', got "
                f"{len(names)} ({path})."
            )
        named = np.array([str(name) for name in names])[graph_ids.numpy()]
        fields["columns"] = {**graph["columns"], "graph": named}
    return fields


def _list(content: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    """A list of ids, each of them once. JSON's true is no 1, and neither is 1.0."""
    value = content[key]
    if not isinstance(value, list):
        raise DataError(f"Expected a list in {key!r}, got {value!r:.40} ({path}).")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, int | str):
            raise DataError(f"Expected whole numbers or text in {key!r}, got {one!r:.40} ({path}).")
    if len(set(value)) < len(value):
        again = next(one for one, times in Counter(value).items() if times > 1)
        raise DataError(f"Expected each entry of {key!r} once, got {again!r:.40} twice ({path}).")
    return value
