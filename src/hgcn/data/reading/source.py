"""The function that reads a graph from a file or from an object of another package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from hgcn.data.graph import Graph
from hgcn.data.pyg import is_from, is_pyg
from hgcn.data.reading.assemble import Opened, assemble, with_rows
from hgcn.data.reading.edges import edges_from_arrays, edges_from_matrix, edges_from_table
from hgcn.data.reading.folder import folder_fields
from hgcn.data.reading.many import combine
from hgcn.data.reading.networks import NETWORK_ENDINGS, load_network, open_network
from hgcn.data.reading.nodes import keyed
from hgcn.data.reading.tables import TABLE_ENDINGS, Table
from hgcn.errors import DataError


def read(
    source: Any,
    *,
    nodes: Table | str | Path | None = None,
    features: Any = None,
    labels: Any = None,
    graph_ids: Any = None,
    directed: bool | None = None,
    name: str | None = None,
) -> Graph:
    r"""Read a graph, check it, and say in its ``notes`` what was cleaned.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name) / "friends.csv"
        >>> _ = path.write_text("source,target\nann,bob\nbob,cem\n")
        >>> read(path)
        Graph('friends': 3 nodes, 2 edges)
        >>> folder.cleanup()

    Args:
        source: an edge list (``.csv``, ``.tsv``, ``.txt``, ``.parquet``, or a :class:`Table` if
            the path alone does not say enough), a folder with an ``edges.csv``, a GraphML, GML or
            JSON (node-link) file, a NetworkX graph, a SciPy sparse adjacency matrix, a PyG
            ``Data``, an ``edge_index`` of shape ``[2, E]``, a tuple of two or three arrays (ids of
            sources, ids of targets, weights), or a list of such sources: many graphs at once.
        nodes: a table of nodes, its first column the id. Columns that are neither features nor
            labels nor graph ids are kept in ``columns``.
        features: columns of ``nodes``, or a table of which every other column is a feature, or
            numbers in rows: an ``.npy`` or ``.npz`` file, an array, a tensor, a sparse matrix.
        labels: a column of ``nodes``, a table of ids and classes, or an array or ``.npy`` file.
        graph_ids: the graph of each node, in the same forms as labels.
        directed: whether direction means something. If not given, the source tells (PyG, NetworkX)
            or the graph is undirected.
        name: a name for the graph; that of the file or folder if not given.

    Raises:
        DataError: with the file and the line, if something cannot be read as a graph.
    """
    given = {"nodes": nodes, "features": features, "labels": labels, "graph_ids": graph_ids}
    if isinstance(source, list):
        if any(value is not None for value in given.values()):
            raise DataError(
                "Expected a list of graphs to bring its own nodes, features, labels and graph ids. "
                "Read each graph by itself, then the list of them."
            )
        return combine([read(one, directed=directed) for one in source], name or "graph")
    if isinstance(source, str | Path) and Path(source).is_dir():
        folder = Path(source)
        fields = folder_fields(folder, given=given, directed=directed)
        return Graph(**fields, name=name or folder.resolve().name)
    if isinstance(source, Graph) or is_pyg(source):
        own = {} if directed is None else {"directed": directed}
        complete = Graph.from_pyg(source, **own) if is_pyg(source) else source
        if directed not in (None, complete.directed):
            raise DataError(
                f"Expected `directed` to be {complete.directed}, as in the graph given."
            )
        graph = with_rows(complete, given)
        return graph.replace(name=name or graph.name)
    return Graph(**assemble(_open(source), given, directed), name=name or _name(source))


def _name(source: Any) -> str:
    path = source.path if isinstance(source, Table) else source
    return Path(path).name.split(".")[0] if isinstance(path, str | Path) else "graph"


def _open(source: Any) -> Opened:
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in NETWORK_ENDINGS:
            return _open_network(load_network(path), str(path))
        source = Table(path)
    if isinstance(source, Table):
        return Opened(edges_from_table(source))
    if is_from("networkx", "Graph", source):
        return _open_network(source, "the graph")
    if hasattr(source, "tocoo"):
        edges, total = edges_from_matrix(source)
        return Opened(edges, total)
    if isinstance(source, tuple) and len(source) in (2, 3):
        return Opened(edges_from_arrays(*source))
    if isinstance(source, Tensor | np.ndarray) and source.ndim == 2 and len(source) == 2:
        return Opened(replace(edges_from_arrays(*source), numbered=True))
    raise DataError(
        f"Expected a graph: a file ({', '.join((*TABLE_ENDINGS, *NETWORK_ENDINGS))}), a folder, a "
        "NetworkX graph, a SciPy sparse matrix, a PyG Data, an edge_index of shape [2, E] or a "
        f"tuple of arrays, got {type(source).__name__}."
    )


def _open_network(network: Any, path: str) -> Opened:
    edges, table = open_network(network, path)
    if not table.data.height:
        raise DataError(f"Expected a graph with nodes, got none ({path}).")
    return Opened(edges, table.data.height, keyed(table))
