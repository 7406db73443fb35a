"""NetworkX graphs, and the file formats that NetworkX reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from hgcn.data.reading.bounds import MOST_GROWTH, check_file, check_lines, load_json
from hgcn.data.reading.edges import Edges, make_edges
from hgcn.data.reading.tables import SPARE_CELLS, Frame, check_types
from hgcn.errors import DataError, PackageError
from hgcn.packages import require

if TYPE_CHECKING:
    import polars as pl

KINDS = {".graphml": "GraphML", ".gml": "GML", ".json": "JSON of the node-link form"}
NETWORK_ENDINGS = tuple(KINDS)
PLAIN = (str, Real, Decimal, date, time, timedelta, np.bool_, np.datetime64, np.timedelta64)
"""Values of attributes that a column can have; ``datetime`` is a ``date``."""


def load_network(path: Path) -> Any:
    """The NetworkX graph in a GraphML, GML or JSON (node-link) file."""
    check_file(path)
    ending = path.suffix.lower()
    readers = {".graphml": _read_graphml, ".gml": _read_gml, ".json": _read_json}
    try:
        return readers[ending](path)
    except (DataError, PackageError):
        raise
    except RecursionError:
        raise DataError(
            f"Expected {KINDS[ending]} of a few levels, got one nested too deep to read ({path})."
        ) from None
    except MemoryError:
        raise DataError(
            f"Expected a graph that fits into memory, got a larger one ({path})."
        ) from None
    except Exception as error:  # the parsers raise a dozen kinds, KeyError and IndexError included
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"Expected {KINDS[ending]}, got something else ({path}): {reason}."
        ) from None


def _read_graphml(path: Path) -> Any:
    nx = require("networkx", "GraphML")
    _check_entities(path)
    return nx.read_graphml(path)


class _Inside(Exception):
    """The first element of an XML file, before which all entities are declared, has begun."""


def _check_entities(path: Path) -> None:
    """Refuse XML that declares entities, by which a short file can stand for an endless text."""

    def refuse(*declared: Any) -> None:
        raise DataError(
            f"Expected GraphML without entities of its own, got {declared[0]!r} ({path}). Save the "
            "graph again without them."
        )

    def stop(*started: Any) -> None:
        raise _Inside

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except _Inside:
        return


def _read_gml(path: Path) -> Any:
    nx = require("networkx", "GML")
    check_lines(path.read_bytes(), str(path))
    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "no 'label' attribute" not in str(error):
            raise
        return nx.read_gml(path, label="id")


def _read_json(path: Path) -> Any:
    nx = require("networkx", "a graph as JSON")
    content = load_json(path)
    if not isinstance(content, dict) or "nodes" not in content:
        raise ValueError('there is no list "nodes" beside "links" or "edges"')
    links = "links" if "links" in content else "edges"
    for what, keys in (("nodes", ("id",)), (links, ("source", "target"))):
        _check_objects(content.get(what), what, keys, path)
    return nx.node_link_graph(content, edges=links)


def _check_objects(value: Any, what: str, keys: Sequence[str], path: Path) -> None:
    form = "{" + ", ".join(f'"{key}": ...' for key in keys) + "}"
    expected = f'Expected "{what}" to be a list of objects like {form}'
    if not isinstance(value, list):
        raise DataError(f"{expected}, got {_kind(value)} ({path}).")
    for at, one in enumerate(value):
        if not isinstance(one, dict):
            raise DataError(f"{expected}, got {_kind(one)} ({path}, {what}[{at}]).")
        for key in keys:
            given = what != "nodes" or key in one  # nodes without ids are numbered
            if given and not isinstance(one.get(key), str | int | float | list):
                got = _kind(one.get(key))
                raise DataError(f"{expected}, got {got} as {key!r} ({path}, {what}[{at}]).")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), "true or false" if isinstance(value, bool) else "a number")


def open_network(network: Any, path: str) -> tuple[Edges, Frame]:
    """Edges between numbered nodes, and the table of nodes with their attributes."""
    import polars as pl

    names = list(network.nodes)
    number = {node: at for at, node in enumerate(names)}
    columns, left_out = _columns(network, path)
    # Numbers that 64 bits cannot hold are text.
    whole = all(type(node) is int and abs(node) < 2**63 for node in names)
    ids = pl.Series(names if whole else list(map(str, names)))
    table = Frame(
        pl.DataFrame({"id": ids, **columns}), path, lambda row: f"{path}, node {names[row]!r}"
    )
    check_types(table, table.data.columns)
    ends = [(number[a], number[b]) for a, b in network.edges()]

    def location(row: int) -> str:
        a, b = ends[row]
        return f"{path}, edge {names[a]!r} to {names[b]!r}"

    weights = [data.get("weight") for _, _, data in network.edges(data=True)]
    some = any(weight is not None for weight in weights)
    for at, value in enumerate(weights):
        if not _is_plain(value):
            raise DataError(f"Expected a number as weight, got {value!r:.40} ({location(at)}).")
    # NetworkX takes an edge without a weight as one of weight 1.
    weight = _series([1 if value is None else value for value in weights]) if some else None
    first, second = (pl.Series([end[i] for end in ends], dtype=pl.Int64) for i in (0, 1))
    notes = []
    if left_out:
        notes.append(
            "Attributes of nodes that were left out, for their values are neither numbers nor "
            f"text: {', '.join(left_out)}."
        )
    edges = make_edges(
        first, second, weight, path, location, directed=network.is_directed(), notes=tuple(notes)
    )
    return edges, table


def _columns(network: Any, path: str) -> tuple[dict[str, pl.Series], list[str]]:
    """The attributes of nodes as columns, and the names of those that are none."""
    rows = [data for _, data in network.nodes(data=True)]
    attributes = dict.fromkeys(key for data in rows for key in data if str(key) != "id")
    cells = len(attributes) * len(rows)
    if cells > SPARE_CELLS + MOST_GROWTH * sum(map(len, rows)):
        raise DataError(
            f"Expected nodes with the same attributes, got {len(attributes):,} different ones, "
            f"most of them of few nodes ({path})."
        )
    columns, left_out = {}, []
    for key in attributes:
        values = [data.get(key) for data in rows]
        if all(map(_is_plain, values)):
            columns[str(key)] = _series(values)
        else:
            left_out.append(str(key))
    return columns, left_out


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, PLAIN)


def _series(values: list[Any]) -> pl.Series:
    import polars as pl

    if any(isinstance(value, str) for value in values):
        values = [None if value is None else str(value) for value in values]
    try:
        return pl.Series(values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series([None if value is None else str(value) for value in values])
