"""Features of a graph: defaults where there are none, and ways to scale them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hgcn.data.bins import owners, quantile_bins, steps
from hgcn.data.convert import as_graph
from hgcn.data.graph import Graph
from hgcn.data.sparse import (
    entry_rows,
    is_csr,
    select_rows,
    stored_values,
    with_values,
)
from hgcn.errors import GraphError

MAX_DEGREE = 5


def degree_features(edge_index: Tensor, num_nodes: int, *, directed: bool = False) -> Tensor:
    """A constant, log(1 + degree), and a one-hot code of the degree up to 5, for each node."""
    degree = _counts(edge_index[1], num_nodes)
    if directed:
        degree += _counts(edge_index[0], num_nodes)
    steps = torch.eye(MAX_DEGREE + 1, device=degree.device)[degree.clamp_max(MAX_DEGREE)]
    logs = degree[:, None].float().log1p()
    return torch.cat((torch.ones_like(logs), logs, steps), dim=1)


def _counts(nodes: Tensor, num_nodes: int) -> Tensor:
    if nodes.is_cpu:
        return torch.bincount(nodes, minlength=num_nodes)
    # For the same a GPU would be waited for.
    return nodes.new_zeros(num_nodes).index_add(0, nodes, torch.ones_like(nodes))


DEGREE_NAMES = (
    "constant",
    "log(1 + degree)",
    *[f"degree = {step}" for step in range(MAX_DEGREE)],
    f"degree >= {MAX_DEGREE}",
)
"""The columns of :func:`degree_features`."""


def default_features(graph: Any) -> Graph:
    """The graph with features from its edges, if it has none: a constant and the degree.

    The columns are those of :func:`degree_features`, as in the paper's code. For link prediction
    call it on the graph of training edges: degrees tell about all edges.

    Example:
        >>> import torch
        >>> from hgcn.data import Graph
        >>> default_features(Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=3)).num_features
        8
    """
    graph = as_graph(graph)
    if graph.x is not None:
        return graph
    return graph.replace(
        x=degree_features(graph.edge_index, graph.num_nodes, directed=graph.directed),
        feature_names=DEGREE_NAMES,
        notes=(*graph.notes, "Features: none were given; a constant and the degree are used."),
    )


def divide_rows(x: Tensor) -> Tensor:
    """Divide each row by the sum of the sizes of its entries; a row of zeros stays."""
    if not is_csr(x):
        return x / _or_one(x.abs().sum(dim=1, keepdim=True))
    row = entry_rows(x)
    total = torch.zeros(len(x)).index_add_(0, row, x.values().abs())
    return with_values(x, x.values() / _or_one(total)[row])


def logarithm(x: Tensor) -> Tensor:
    """Take the logarithm of one plus the size of each entry, and keep its sign."""
    values = stored_values(x)
    return with_values(x, values.sign() * values.abs().log1p())


def column_scales(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column; 1 in place of the deviation of a constant."""
    mean, spread = _mean_and_spread(x)
    # The spread of a constant column is made of rounding errors.
    return mean, _or_one(torch.where(spread > 1e-6 * mean.abs(), spread, 0.0))


def scale_columns(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    """Subtract a mean from each column and divide by a scale; sparse features are not centred."""
    if not is_csr(x):
        return ((x - mean) / scale).float()
    return with_values(x, (x.values() / scale[x.col_indices()]).float())


def _unchanged(x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True)
class Normalisation:
    """A way to scale features: statistics of some rows, and what is done to all rows with them.

    Example:
        >>> import torch
        >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0], [9.0, 6.0]])
        >>> STANDARD.apply(x, *STANDARD.fit(x[:2]))
        tensor([[-1.,  0.],
                [ 1.,  0.],
                [ 7.,  1.]])

    Args:
        scale: the function of a matrix and of its statistics that scales the matrix.
        statistics: the function of the training rows that finds the statistics; none by default.
        owners: the function of the statistics that names the column each new one is made of; by
            default the new columns are the old ones.
    """

    scale: Callable[..., Tensor]
    statistics: Callable[[Tensor], tuple[Tensor, ...]] | None = None
    owners: Callable[..., list[int]] | None = None

    def fit(self, x: Tensor, rows: Tensor | None = None) -> tuple[Tensor, ...]:
        """Find the statistics of the training rows, all by default, for :meth:`apply`."""
        if self.statistics is None:
            return ()
        if rows is not None:
            x = select_rows(x, rows)
        if not len(x):
            raise GraphError("Expected at least one row of features to fit on, got none.")
        return self.statistics(x)

    def apply(self, x: Tensor, *statistics: Tensor) -> Tensor:
        """Scale features, with the statistics that :meth:`fit` found."""
        return self.scale(x, *statistics)

    def made_of(self, columns: int, *statistics: Tensor) -> list[int]:
        """For each column of the result, the one of the features that it is made of."""
        return [*range(columns)] if self.owners is None else self.owners(*statistics)


UNCHANGED = Normalisation(_unchanged)
"""Features as they are."""

ROW = Normalisation(divide_rows)
"""Each row divided by the sum of the sizes of its entries."""

STANDARD = Normalisation(scale_columns, column_scales)
"""Each column with mean 0 and deviation 1 over the training rows; sparse ones are not centred."""

LOG = Normalisation(logarithm)
"""The logarithm of one plus the size of each entry, with its sign."""

BINS = Normalisation(steps, quantile_bins, owners)
"""Each dense column as steps between quantiles of the training rows; see :mod:`hgcn.data.bins`."""


def normalise_rows(graph: Any) -> Graph:
    """Divide the features of each node by the sum of their sizes; a row of zeros stays.

    Example:
        >>> from hgcn.data import tree_with_features
        >>> sums = normalise_rows(tree_with_features(0.8, depth=2)).x.abs().sum(dim=1)
        >>> torch.allclose(sums, torch.ones(13))
        True
    """
    graph = as_graph(graph)
    return graph.replace(x=ROW.apply(_features(graph)))


def log_features(graph: Any) -> Graph:
    """Take the logarithm of one plus the size of each feature, and keep its sign.

    Example:
        >>> from hgcn.data import tree_with_features
        >>> graph = tree_with_features(0.8, depth=2)
        >>> torch.equal(log_features(graph).x.sign(), graph.x.sign())
        True
    """
    graph = as_graph(graph)
    return graph.replace(x=LOG.apply(_features(graph)))


def standardise(graph: Any, nodes: Tensor) -> Graph:
    """Bring features to mean 0 and standard deviation 1 over some nodes.

    Mean and deviation come from ``nodes`` alone: give the training nodes, and nothing about the
    others leaks into what the model sees. Columns that are constant there are only centred. Sparse
    features stay sparse: they are divided by their deviation and not centred.

    Args:
        graph: a graph with features.
        nodes: numbers of nodes, or a mask.

    Example:
        >>> from hgcn.data import tree_with_features
        >>> graph = tree_with_features(0.8, depth=2)
        >>> standardise(graph, torch.arange(9)).x[:9].mean().abs() < 1e-6
        tensor(True)
    """
    graph = as_graph(graph)
    x = _features(graph)
    nodes = nodes.nonzero()[:, 0] if nodes.dtype == torch.bool else nodes
    if not len(nodes):
        raise GraphError("Expected `nodes` to hold at least one node to fit on, got none.")
    return graph.replace(x=STANDARD.apply(x, *STANDARD.fit(select_rows(x, nodes))))


def _mean_and_spread(x: Tensor) -> tuple[Tensor, Tensor]:
    if not is_csr(x):
        spread, mean = torch.std_mean(x.double(), dim=0, correction=0)
        return mean, spread
    rows, columns = x.shape
    values, column = x.values().double(), x.col_indices()
    zeros = torch.zeros(columns, dtype=torch.float64)
    mean = zeros.index_add(0, column, values) / rows
    # The zeros that are not stored are away from the mean as well.
    absent = rows - torch.bincount(column, minlength=columns)
    square = zeros.index_add(0, column, (values - mean[column]).square()) + absent * mean.square()
    return mean, (square / rows).sqrt()


def _features(graph: Graph) -> Tensor:
    if graph.x is None:
        raise GraphError("Expected a graph with features, got one without: see default_features.")
    return graph.x


def _or_one(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, 1.0)
