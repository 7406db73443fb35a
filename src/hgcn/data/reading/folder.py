"""A folder of files with fixed names, one data set each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hgcn.data.graph import SPLIT_PARTS, Graph
from hgcn.errors import DataError

# What may be in a folder, and under which names, in order of preference.
PARTS = {
    "edges": ("edges.csv", "edges.tsv", "edges.txt", "edges.parquet", "edges.csv.gz"),
    "nodes": ("nodes.csv", "nodes.tsv", "nodes.parquet"),
    "features": ("features.npz", "features.npy", "features.csv", "features.parquet"),
    "labels": ("labels.npy", "labels.csv", "labels.parquet"),
    "graph_ids": ("graph_ids.npy", "graph_ids.csv", "graph_ids.parquet"),
    "split": ("split.json",),
}


def folder_parts(folder: Path) -> dict[str, Path]:
    """The files of a folder by what they hold."""
    parts = {}
    for part, names in PARTS.items():
        found = [folder / name for name in names if (folder / name).is_file()]
        if len(found) > 1:
            raise DataError(
                f"Expected one file of {part} in {folder}, got {', '.join(p.name for p in found)}. "
                "Remove all but one, or read the files by themselves."
            )
        if found:
            parts[part] = found[0]
    if "edges" not in parts:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:5])
        raise DataError(
            f"Expected a file edges.csv in the folder {folder}, got {there or 'nothing'}. "
            "Give the path of the edge list itself if it has another name."
        )
    return parts


def read_split(path: Path, graph: Graph) -> dict[str, Any]:
    """The fields of a graph that a ``split.json`` sets: parts by node, or by whole graphs."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise DataError(f"Expected a readable file in UTF-8, got another one ({path}).") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"Expected JSON, got something else ({path}, line {error.lineno}): {error.msg}."
        ) from None
    if not isinstance(content, dict):
        raise DataError(f"Expected an object with {', '.join(SPLIT_PARTS)}, got another ({path}).")
    split = {}
    number = {node: at for at, node in enumerate(graph.ids.tolist())}
    for part in SPLIT_PARTS:
        if part in content:
            known = [number.get(node) for node in _list(content[part], part, path)]
            if None in known:
                stray = content[part][known.index(None)]
                raise DataError(f"Expected nodes of the graph in {part!r}, got {stray!r} ({path}).")
            split[part] = torch.tensor(known, dtype=torch.int64)
        elif f"{part}_graphs" in content:
            chosen = _list(content[f"{part}_graphs"], part, path)
            if graph.graph_ids is None or not all(
                isinstance(at, int) and 0 <= at < graph.num_graphs for at in chosen
            ):
                raise DataError(
                    f"Expected graphs 0..{graph.num_graphs - 1} in '{part}_graphs', got {chosen} "
                    f"({path}). Is there a file graph_ids.npy?"
                )
            inside = torch.isin(graph.graph_ids, torch.tensor(chosen, dtype=torch.int64))
            split[part] = inside.nonzero()[:, 0]
    fields: dict[str, Any] = {"split": split or None}
    names = content.get("graph_names")
    if isinstance(names, list) and len(names) == graph.num_graphs and graph.graph_ids is not None:
        named = np.array([str(name) for name in names])[graph.graph_ids.numpy()]
        fields["columns"] = {**graph.columns, "graph": named}
    return fields


def _list(value: Any, part: str, path: Path) -> list[Any]:
    if not isinstance(value, list) or any(isinstance(node, list | dict) for node in value):
        raise DataError(f"Expected a list of nodes in {part!r}, got {value!r:.40} ({path}).")
    return value
