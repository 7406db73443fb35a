"""From graphs of other packages, held in memory, to a :class:`Graph`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hgcn.data.graph import Graph
from hgcn.data.pyg import is_pyg
from hgcn.data.reading.source import read
from hgcn.errors import GraphError


def as_graph(source: Any) -> Graph:
    """A graph from a :class:`Graph`, a PyG ``Data`` or anything else that is one in memory.

    Every function of hgcn that takes a graph calls this first. Files are read by
    :func:`hgcn.data.read`.

    Example:
        >>> import networkx
        >>> as_graph(networkx.path_graph(3))
        Graph(3 nodes, 2 edges)
    """
    if isinstance(source, Graph):
        return source
    if is_pyg(source):
        return Graph.from_pyg(source)
    if isinstance(source, str | Path):
        raise GraphError(f"Expected a graph, got {source!r}. Load it first: hgcn.load({source!r}).")
    return read(source)
