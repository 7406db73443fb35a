"""A data set as a folder of plain files: CSV, JSON, ``.npy`` and ``.npz``, no pickles."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import SPLIT_PARTS, Graph, csr_matrix
from hgcn.data.reading.clean import clean_edges
from hgcn.errors import DataError

# Content by file name. What a content is follows from the name:
# edges.csv, closure.csv: int64 array [E, 2]; nodes.csv: dict of columns of text;
# .json: dict; .npy: array; .npz: SciPy CSR matrix.
Files = dict[str, Any]


def write_folder(files: Mapping[str, Any], folder: Path) -> None:
    """Store contents under their names; the folder appears whole or not at all."""
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, content in files.items():
            _write(content, made / name)
        made.chmod(0o755)
        if folder.is_dir():  # left by an older version, or damaged
            shutil.rmtree(folder)
        made.replace(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write(content: Any, path: Path) -> None:
    if path.suffix == ".npy":
        np.save(path, content, allow_pickle=False)
    elif path.suffix == ".npz":
        from scipy import sparse

        sparse.save_npz(path, content)
    elif path.suffix == ".json":
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")
    elif isinstance(content, np.ndarray):
        with path.open("w", encoding="utf-8", newline="\n") as file:
            np.savetxt(file, content, "%d", delimiter=",", header="source,target", comments="")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(content)
            writer.writerows(zip(*content.values(), strict=True))


def read_content(path: Path) -> Any:
    """The content of one file, as `Files` says."""
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            from scipy import sparse

            return sparse.load_npz(path)
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        if path.name == "nodes.csv":
            with path.open(encoding="utf-8", newline="") as file:
                header, *rows = csv.reader(file)
            columns = zip(*rows, strict=True)
            return {name: list(values) for name, values in zip(header, columns, strict=True)}
        return np.loadtxt(path, np.int64, delimiter=",", skiprows=1, ndmin=2)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path}: cannot be read. {error}") from error


def read_graph(folder: Path, *, instead: Mapping[str, str], **fields: Any) -> Graph:
    """The graph in a folder.

    Args:
        folder: of the layout that `write_folder` makes.
        instead: file names to read in place of the usual ones.
        fields: of the graph that no file holds, among them ``num_nodes``.
    """

    def content(file: str) -> Any:
        path = folder / instead.get(file, file)
        return read_content(path) if path.is_file() else None

    source, target = content("edges.csv").T
    edges = clean_edges(source, target, None, num_nodes=fields["num_nodes"], directed=False)[0]
    for field, file in (("y", "labels.npy"), ("graph_ids", "graph_ids.npy")):
        values = content(file)
        fields[field] = None if values is None else torch.from_numpy(values)
    columns = {key: _column(values) for key, values in (content("nodes.csv") or {}).items()}
    columns.pop("node", None)
    split = content("split.json")
    if split is not None:
        fields["split"] = _split(split, fields["graph_ids"])
        if "graph_names" in split:
            columns["graph"] = np.array(split["graph_names"])[fields["graph_ids"].numpy()]
    genes = content("gene_ids.npy")
    if genes is not None:
        columns["gene"] = genes
    ids = _ids(columns)
    if ids is not None:
        fields["ids"] = ids
    return Graph(
        edges,
        x=_features(content("features.npy"), content("features.npz")),
        columns=columns,
        **fields,
    )


def _features(dense: np.ndarray | None, sparse: Any) -> Tensor | None:
    if dense is not None:
        return torch.from_numpy(dense.astype(np.float32))
    if sparse is None:
        return None
    place, column, values = map(torch.from_numpy, (sparse.indptr, sparse.indices, sparse.data))
    return csr_matrix(place.long(), column.long(), values, sparse.shape)


def _column(values: list[str]) -> np.ndarray:
    """Numbers where all are numbers, else text."""
    text = np.array(values)
    for kind in (np.int64, np.float64):
        try:
            return text.astype(kind)
        except ValueError:
            continue
    return text


def _split(split: dict[str, Any], graph_ids: Tensor | None) -> dict[str, Tensor]:
    if graph_ids is None:
        return {part: torch.tensor(split[part]) for part in SPLIT_PARTS}
    chosen = {part: torch.tensor(split[f"{part}_graphs"]) for part in SPLIT_PARTS}
    return {part: torch.isin(graph_ids, ids).nonzero()[:, 0] for part, ids in chosen.items()}


def _ids(columns: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """What the source calls each node."""
    if "gene" in columns:  # a gene occurs in several tissues
        pairs = zip(columns["graph"], columns["gene"], strict=True)
        return np.array([f"{tissue}:{gene}" for tissue, gene in pairs])
    return next((columns[key] for key in ("synset", "openflights_id") if key in columns), None)
