"""Graphs: reading, checking, data sets, simulators, splits and hyperbolicity."""

from hgcn.data.convert import as_graph
from hgcn.data.datasets import DATASETS, Dataset, is_present, load_dataset
from hgcn.data.datasets.generators import (
    balanced_tree,
    barabasi_albert,
    hyperbolic_random,
    random_tree,
    tree_with_features,
)
from hgcn.data.datasets.simulate import disease, disease_m, disease_spread
from hgcn.data.features import default_features, log_features, normalise_rows, standardise
from hgcn.data.graph import Graph
from hgcn.data.gromov.report import Hyperbolicity, hyperbolicity
from hgcn.data.loading import load
from hgcn.data.reading.many import combine
from hgcn.data.reading.source import read
from hgcn.data.reading.tables import Table
from hgcn.data.splits.draw import LinkPart, LinkSplit, NodeSplit, split_links, split_nodes

__all__ = [
    "DATASETS",
    "Dataset",
    "Graph",
    "Hyperbolicity",
    "LinkPart",
    "LinkSplit",
    "NodeSplit",
    "Table",
    "as_graph",
    "balanced_tree",
    "barabasi_albert",
    "combine",
    "default_features",
    "disease",
    "disease_m",
    "disease_spread",
    "hyperbolic_random",
    "hyperbolicity",
    "is_present",
    "load",
    "load_dataset",
    "log_features",
    "normalise_rows",
    "random_tree",
    "read",
    "split_links",
    "split_nodes",
    "standardise",
    "tree_with_features",
]
