"""Data sets of the Open Graph Benchmark, from the files that its package ``ogb`` downloads.

A folder such as ``ogbn_arxiv`` has plain text, packed, in ``raw/`` and the benchmark's own split in
``split/``. Splits of links are files of torch: arrays and nothing else is read from them.
"""

from __future__ import annotations

import _codecs
import pickle  # nosec B403  # only the name of its errors
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hgcn.data.clean import clean_edges
from hgcn.data.graph import Graph
from hgcn.data.mapped.blocks import text_blocks
from hgcn.data.pairs import keys
from hgcn.data.reading.bounds import check_file
from hgcn.data.reading.lines import Text
from hgcn.errors import DataError
from hgcn.names import PARTS
from hgcn.text import count

FILES = {"train": "train", "val": "valid", "test": "test"}
"""The benchmark's names of the parts."""


@dataclass(frozen=True)
class Benchmark:
    """A data set of the benchmark.

    Attributes:
        name: its name, such as "ogbn-arxiv".
        split: the name of its split, a folder in ``split/``.
        links: whether the split is one of links.
        columns: files of ``raw/`` with a number for each node that is kept, by name of the column.
        weights: the file of ``raw/`` with the weight of each edge.
    """

    name: str
    split: str
    links: bool = False
    columns: tuple[tuple[str, str], ...] = ()
    weights: str | None = None

    def folder(self, roots: list[Path]) -> Path | None:
        """The folder of the data set in one of some folders."""
        stem = self.name.replace("-", "_")
        found = (root / name for root in roots for name in (stem, f"{stem}_pyg"))
        return next((path for path in found if (path / "raw" / "edge.csv.gz").is_file()), None)

    def load(self, roots: list[Path]) -> Graph:
        """The graph, undirected, with the benchmark's split."""
        folder = self.folder(roots)
        if folder is None:
            stem = self.name.replace("-", "_")
            raise DataError(
                f"Expected the folder {stem} of the data set {self.name!r}, as the package ogb "
                f"downloads it, with raw/edge.csv.gz in it, got none in "
                f"{' or '.join(map(str, roots))}. Download it with ogb, which asks for consent to "
                "its licence, and set HGCN_DATA to the folder above it."
            )
        return self.read(folder)

    def read(self, folder: Path) -> Graph:
        """The graph in a folder."""
        raw = folder / "raw"
        num_nodes = int(_numbers(raw / "num-node-list.csv.gz", np.int64)[0, 0])
        edges = _numbers(raw / "edge.csv.gz", np.int64, width=2)
        _check_nodes(edges, num_nodes, raw / "edge.csv.gz")
        weight = None
        if self.weights is not None:
            weight = _rows(raw / self.weights, np.float64, len(edges))[:, 0]
        source, target = edges.T
        edge_index, edge_weight, notes = clean_edges(
            source, target, weight, num_nodes=num_nodes, directed=False
        )
        fields: dict[str, Any] = {
            "edge_index": edge_index, "edge_weight": edge_weight, "num_nodes": num_nodes,
        }  # fmt: skip
        features = raw / "node-feat.csv.gz"
        if features.is_file():
            fields["x"] = torch.from_numpy(_rows(features, np.float32, num_nodes))
        fields["columns"] = {
            name: _rows(raw / file, np.int64, num_nodes)[:, 0] for name, file in self.columns
        }
        parts = folder / "split" / self.split
        if self.links:
            fields["links"], more = _links(parts, num_nodes)
            notes = (*notes, *more)
        else:
            labels = _rows(raw / "node-label.csv.gz", np.int64, num_nodes)[:, 0]
            fields["y"] = torch.from_numpy(np.ascontiguousarray(labels))
            fields["split"] = {
                part: torch.from_numpy(_numbers(parts / f"{file}.csv.gz", np.int64)[:, 0].copy())
                for part, file in FILES.items()
            }
        return Graph(**fields, name=self.name, notes=notes)


def _numbers(path: Path, dtype: Any, width: int | None = None) -> NDArray[Any]:
    """The numbers of a text file, a row for each line; some lines are read at a time."""
    import polars as pl

    check_file(path)
    kind, found = pl.Int64 if dtype is np.int64 else pl.Float64, []
    for block in text_blocks(path):
        if width is None:
            width = block.data.split(b"\n", 1)[0].count(b",") + 1
        schema = {f"column {at}": kind for at in range(width)}
        text = Text(str(path), block.data, ",", None, block.line)
        try:
            frame = pl.read_csv(block.data, has_header=False, schema=schema)
            if any(frame.null_count().row(0)):
                raise pl.exceptions.ComputeError("a number is missing")
        except pl.exceptions.PolarsError:
            _complain(text, width, kind == pl.Int64)
        found.append(frame.to_numpy().astype(dtype, copy=False))
    if not found:
        raise DataError(f"Expected numbers, got an empty file ({path}).")
    return np.concatenate(found)


def _complain(text: Text, width: int, whole: bool) -> None:
    """Raise an error that names the line at fault."""
    text.check_widths(width)
    what = "whole numbers" if whole else "numbers"
    for line, fields in text.records():
        for one in fields:
            try:
                int(one) if whole else float(one)
            except ValueError:
                raise DataError(
                    f"Expected {what}, got {one!r:.40} ({text.path}, line {line})."
                ) from None
    raise DataError(f"Expected {what}, got something else ({text.path}).")


def _rows(path: Path, dtype: Any, rows: int) -> NDArray[Any]:
    found = _numbers(path, dtype)
    if len(found) != rows:
        raise DataError(f"Expected {count(rows, 'line')}, got {len(found):,} ({path}).")
    return found


def _check_nodes(nodes: NDArray[Any], num_nodes: int, path: Path) -> None:
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < num_nodes):
        wrong = int(nodes.max() if nodes.min() >= 0 else nodes.min())
        raise DataError(f"Expected nodes in 0..{num_nodes - 1}, got {wrong} ({path}).")


def _links(folder: Path, num_nodes: int) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The pairs of validation and test, with and without an edge, and notes on them.

    Training edges are those of the graph that are in neither part: the benchmark lists pairs by
    year, so one that comes again later would be shown where it is to be predicted.
    """
    links: dict[str, Tensor] = {}
    for part in PARTS[1:]:
        path = folder / f"{FILES[part]}.pt"
        content = _load(path)
        for name, key in ((part, "edge"), (f"{part}_negatives", "edge_neg")):
            pairs = np.asarray(content.get(key, ()))
            if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind != "i":
                raise DataError(
                    f"Expected pairs of nodes under {key!r}, got {pairs.dtype} of shape "
                    f"{list(pairs.shape)} ({path})."
                )
            _check_nodes(pairs, num_nodes, path)
            found = torch.from_numpy(np.ascontiguousarray(pairs.T, np.int64))
            links[name] = found[:, found[0] != found[1]]
    known = keys(links["test"], num_nodes, unordered=True)
    again = torch.isin(keys(links["val"], num_nodes, unordered=True), known)
    links["val"] = links["val"][:, ~again]
    left_out = int(again.sum())
    note = f"Links: {count(left_out, 'pair')} of the test left out of validation."
    return links, (note,) * bool(left_out)


def _load(path: Path) -> Mapping[str, Any]:
    """The dictionary of arrays in a file of torch; no other object is made of what it says."""
    check_file(path)
    array = np.zeros(1, np.int64)
    rebuild = array.__reduce__()[0]
    allowed: list[Any] = [np.ndarray, np.dtype, type(array.dtype), type(np.dtype(np.float32))]
    allowed += [type(np.dtype(np.float64)), type(np.dtype(np.int32)), _codecs.encode]
    allowed += [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals(allowed):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise DataError(
            f"Expected arrays as torch saves them, got something else ({path}). Other objects can "
            "run code, and are never made. Download the data again."
        ) from None
    except (RuntimeError, ValueError, EOFError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"Expected arrays as torch saves them, got something else ({path}): {reason:.200}"
        ) from None
    if not isinstance(content, dict):
        raise DataError(f"Expected arrays by name, got {type(content).__name__} ({path}).")
    return content


ARXIV = Benchmark("ogbn-arxiv", "time", columns=(("year", "node_year.csv.gz"),))
PRODUCTS = Benchmark("ogbn-products", "sales_ranking")
COLLAB = Benchmark("ogbl-collab", "time", links=True, weights="edge_weight.csv.gz")
