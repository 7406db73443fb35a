"""Graphs: reading, checking, datasets, simulators, splits and hyperbolicity."""

from hgcn.data.combine import combine
from hgcn.data.convert import as_graph
from hgcn.data.features import default_features, log_features, normalise_rows, standardise
from hgcn.data.graph import Graph
from hgcn.data.load import load
from hgcn.data.read import read
from hgcn.data.tables import Table

__all__ = [
    "Graph",
    "Table",
    "as_graph",
    "combine",
    "default_features",
    "load",
    "log_features",
    "normalise_rows",
    "read",
    "standardise",
]
