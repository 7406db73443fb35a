"""The function that reads a graph from a file or from an object of another package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from hgcn.data.encoding import Encoding
from hgcn.data.graph import Graph
from hgcn.data.mapped.load import is_mapped, load_mapped
from hgcn.data.pyg import is_from, is_link_split, is_pyg, joined_pyg, pairs_of_pyg
from hgcn.data.reading.assemble import Given, Opened, assemble, with_values
from hgcn.data.reading.dataframes import is_dataframe, open_dataframe
from hgcn.data.reading.edges import (
    edges_from_arrays,
    edges_from_frame,
    edges_from_matrix,
    edges_from_table,
)
from hgcn.data.reading.folder import folder_fields, json_split_fields
from hgcn.data.reading.many import combine
from hgcn.data.reading.networks import NETWORK_ENDINGS, load_network, open_network
from hgcn.data.reading.nodes import keyed
from hgcn.data.reading.tables import TABLE_ENDINGS, Table
from hgcn.errors import DataError


def read(  # noqa: PLR0913
    source: Any,
    *,
    nodes: Any = None,
    features: Any = None,
    feature_columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    text: str | Sequence[str] | None = None,
    date_parts: bool = False,
    labels: Any = None,
    graph_ids: Any = None,
    split: Any = None,
    directed: bool | None = None,
    name: str | None = None,
    encoding: Encoding | None = None,
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
            the path alone does not say enough), a folder with an ``edges.csv`` or one that `hgcn
            convert` made, a GraphML, GML or JSON (node-link) file, a NetworkX graph, a SciPy sparse
            adjacency matrix, a pandas or
            polars DataFrame of edges, a PyG ``Data`` or the three of ``RandomLinkSplit``, an
            ``edge_index`` of shape ``[2, E]``, a tuple of two or three arrays (ids of sources, ids
            of targets, weights), or a list of such sources: many graphs at once.
        nodes: a table of nodes, a file or a DataFrame, its first column the id. Columns that are
            neither features nor labels nor graph ids are kept in ``columns``.
        features: columns of ``nodes``, or a table of which every other column is a feature, or
            numbers in rows: an ``.npy`` or ``.npz`` file, an array, a tensor, a sparse matrix.
        feature_columns: the columns of that table, or of the nodes of the source, to use as
            features: a list, or names with commas between.
        drop: the columns not to use.
        text: columns whose words are hashed to features.
        date_parts: whether dates give year, month, day, weekday and hour too.
        labels: a column of ``nodes``, a table of ids and classes, or an array or ``.npy`` file.
        graph_ids: the graph of each node, in the same forms as labels.
        split: parts of your own: a column of ``nodes`` that says train, val or test; a table of ids
            or of pairs with a column ``part``; a ``split.json``; a folder with ``val.csv`` and
            ``test.csv`` of pairs; a dictionary of masks, numbers of nodes, or pairs ``[2, M]``.
        directed: whether direction means something. If not given, the source tells (PyG, NetworkX)
            or the graph is undirected.
        name: a name for the graph; that of the file or folder if not given.
        encoding: how columns become features, learnt before; for graphs like the one it is from.

    Raises:
        DataError: with the file and the line, if something cannot be read as a graph.
    """
    given = Given(
        nodes, features, column_names(feature_columns), column_names(drop), column_names(text),
        date_parts, labels, graph_ids, split, encoding,
    )  # fmt: skip
    if is_link_split(source):
        given = replace(given, split=pairs_of_pyg(source)) if split is None else given
        source = joined_pyg(source)
    if isinstance(source, list):
        if not replace(given, encoding=None).is_empty:
            raise DataError(
                "Expected a list of graphs to bring its own nodes, features, labels and graph ids. "
                "Read each graph by itself, then the list of them."
            )
        graphs = [read(one, directed=directed, encoding=encoding) for one in source]
        return combine(graphs, name or "graph")
    if isinstance(source, str | Path) and is_mapped(Path(source)):
        source = load_mapped(source)
    parts: Path | None = None
    if isinstance(split, str | Path) and Path(split).suffix.lower() == ".json":
        parts, given = Path(split), replace(given, split=None)
    if isinstance(source, str | Path) and Path(source).is_dir():
        folder = Path(source)
        fields = folder_fields(folder, given=given, directed=directed)
        graph = Graph(**fields, name=name or folder.resolve().name)
    elif isinstance(source, Graph) or is_pyg(source):
        graph = _complete(source, given, directed)
        graph = graph.replace(name=name) if name else graph
    else:
        graph = Graph(**assemble(_open(source), given, directed), name=name or _name(source))
    if parts is None:
        return graph
    known = {"ids": graph.ids, "graph_ids": graph.graph_ids, "columns": graph.columns}
    return graph.replace(**json_split_fields(parts, known))


def column_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns: a list, or text with commas between them."""
    if names is None:
        return ()
    found = names.split(",") if isinstance(names, str) else names
    return tuple(name.strip() for name in found if name.strip())


def _complete(source: Any, given: Given, directed: bool | None) -> Graph:
    own = {} if directed is None else {"directed": directed}
    graph = Graph.from_pyg(source, **own) if is_pyg(source) else source
    if directed not in (None, graph.directed):
        raise DataError(f"Expected `directed` to be {graph.directed}, as in the graph given.")
    if given.encoding is not None and given.features is None:
        given = replace(given, encoding=None)  # its own columns become features when they are used
    return graph if given.is_empty else with_values(graph, given)


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
    return _open_object(source)


def _open_object(source: Any) -> Opened:
    if is_dataframe(source):
        frame = open_dataframe(source, "the edges")
        return Opened(edges_from_frame(frame, Table("", header=True)))
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
        "NetworkX graph, a SciPy sparse matrix, a DataFrame, a PyG Data, an edge_index of shape "
        f"[2, E] or a tuple of arrays, got {type(source).__name__}."
    )


def _open_network(network: Any, path: str) -> Opened:
    edges, table = open_network(network, path)
    if not table.data.height:
        raise DataError(f"Expected a graph with nodes, got none ({path}).")
    return Opened(edges, table.data.height, keyed(table))
