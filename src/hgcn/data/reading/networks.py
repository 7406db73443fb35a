"""NetworkX graphs, and the file formats that NetworkX reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.data.reading.edges import Edges, make_edges
from hgcn.data.reading.tables import Frame
from hgcn.errors import DataError

if TYPE_CHECKING:
    import polars as pl

NETWORK_ENDINGS = (".graphml", ".gml", ".json")


def load_network(path: Path) -> Any:
    """The NetworkX graph in a GraphML, GML or JSON (node-link) file."""
    import networkx as nx

    if not path.is_file():
        raise DataError(f"Expected a file, got none ({path}).")
    try:
        if path.suffix == ".graphml":
            return nx.read_graphml(path)
        if path.suffix == ".gml":
            return _read_gml(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or "nodes" not in content:
            raise ValueError('there is no list "nodes" beside "links" or "edges"')
        links = "links" if "links" in content else "edges"
        return nx.node_link_graph(content, edges=links)
    except json.JSONDecodeError as error:
        raise DataError(
            f"Expected JSON, got something else ({path}, line {error.lineno}): {error.msg}."
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"Expected text in UTF-8, got other bytes ({path}).") from None
    except Exception as error:  # the parsers raise a dozen kinds, KeyError and IndexError included
        kind = {".graphml": "GraphML", ".gml": "GML", ".json": "JSON of the node-link form"}
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"Expected {kind[path.suffix]}, got something else ({path}): {reason}."
        ) from None


def _read_gml(path: Path) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
        return nx.read_gml(path, label="id")


def open_network(network: Any, path: str) -> tuple[Edges, Frame]:
    """Edges between numbered nodes, and the table of nodes with their attributes."""
    import polars as pl

    def series(values: list[Any]) -> pl.Series:
        if any(isinstance(value, str) for value in values):
            values = [None if value is None else str(value) for value in values]
        try:
            return pl.Series(values, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            return pl.Series([None if value is None else str(value) for value in values])

    names = list(network.nodes)
    number = {node: at for at, node in enumerate(names)}
    attributes = dict.fromkeys(key for _, data in network.nodes(data=True) for key in data)
    columns = {
        str(key): series([data.get(key) for _, data in network.nodes(data=True)])
        for key in attributes
        if str(key) != "id"
    }
    ids = pl.Series(names if all(type(node) is int for node in names) else list(map(str, names)))
    table = Frame(
        pl.DataFrame({"id": ids, **columns}), path, lambda row: f"{path}, node {names[row]!r}"
    )
    ends = [(number[a], number[b]) for a, b in network.edges()]
    weights = [data.get("weight") for _, _, data in network.edges(data=True)]
    some = any(weight is not None for weight in weights)
    # NetworkX takes an edge without a weight as one of weight 1.
    weight = series([1 if value is None else value for value in weights]) if some else None
    first, second = (pl.Series([end[i] for end in ends], dtype=pl.Int64) for i in (0, 1))

    def location(row: int) -> str:
        a, b = ends[row]
        return f"{path}, edge {names[a]!r} to {names[b]!r}"

    edges = make_edges(first, second, weight, path, location, directed=network.is_directed())
    return edges, table
