"""Features of a graph: defaults where there are none, and ways to scale them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hgcn.data.graph import Graph, csr_matrix, select_rows
from hgcn.data.reading.convert import as_graph
from hgcn.errors import GraphError

MAX_DEGREE = 5


def degree_features(edge_index: Tensor, num_nodes: int, *, directed: bool = False) -> Tensor:
    """A constant, log(1 + degree), and a one-hot code of the degree up to 5, for each node."""
    degree = torch.bincount(edge_index[1], minlength=num_nodes)
    if directed:
        degree += torch.bincount(edge_index[0], minlength=num_nodes)
    steps = torch.eye(MAX_DEGREE + 1, device=degree.device)[degree.clamp_max(MAX_DEGREE)]
    logs = degree[:, None].float().log1p()
    return torch.cat((torch.ones_like(logs), logs, steps), dim=1)


DEGREE_NAMES = (
    "constant",
    "log(1 + degree)",
    *[f"degree = {step}" for step in range(MAX_DEGREE)],
    f"degree >= {MAX_DEGREE}",
)
"""The columns of :func:`degree_features`."""


def append_columns(x: Tensor, more: Tensor) -> Tensor:
    """A matrix with more columns; a CSR matrix stays one, and stores each of their entries."""
    if x.layout != torch.sparse_csr:
        return torch.cat((x, more), dim=1)
    (rows, columns), width = x.shape, more.shape[1]
    crow = x.crow_indices() + width * torch.arange(rows + 1, device=x.device)
    column, values = x.col_indices().long(), x.values().to(more.dtype)
    new_column = column.new_empty(int(crow[-1]))
    new_values = values.new_empty(int(crow[-1]))
    last = _last_entries(crow, width)
    old = torch.ones_like(new_column, dtype=torch.bool).index_fill_(0, last.flatten(), False)
    new_column[old], new_values[old] = column, values
    new_column[last] = torch.arange(columns, columns + width, device=x.device)
    new_values[last] = more
    return csr_matrix(crow, new_column, new_values, (rows, columns + width))


def replace_last_columns(x: Tensor, new: Tensor) -> Tensor:
    """A matrix with other last columns; in a CSR matrix all their entries must be stored."""
    width = new.shape[1]
    if x.layout != torch.sparse_csr:
        return torch.cat((x[:, :-width], new.to(x)), dim=1)
    from hgcn.kernels.csr import with_values  # Numba takes a while to import

    values = x.values().clone()
    values[_last_entries(x.crow_indices(), width)] = new.to(values)
    return with_values(x, values)


def _last_entries(crow: Tensor, width: int) -> Tensor:
    """Where the last entries of each row of a CSR matrix are stored."""
    return crow[1:, None] + torch.arange(-width, 0, device=crow.device)


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
    if x.layout != torch.sparse_csr:
        return x / _or_one(x.abs().sum(dim=1, keepdim=True))
    row = torch.arange(len(x)).repeat_interleave(x.crow_indices().diff())
    total = torch.zeros(len(x)).index_add_(0, row, x.values().abs())
    return _with_values(x, x.values() / _or_one(total)[row])


def logarithm(x: Tensor) -> Tensor:
    """Take the logarithm of one plus the size of each entry, and keep its sign."""
    values = x.values() if x.layout == torch.sparse_csr else x
    return _with_values(x, values.sign() * values.abs().log1p())


def column_scales(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column; 1 in place of the deviation of a constant."""
    mean, spread = _mean_and_spread(x)
    # The spread of a constant column is made of rounding errors.
    return mean, _or_one(torch.where(spread > 1e-6 * mean.abs(), spread, 0.0))


def scale_columns(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    """Subtract a mean from each column and divide by a scale; sparse features are not centred."""
    if x.layout != torch.sparse_csr:
        return ((x - mean) / scale).float()
    return _with_values(x, (x.values() / scale[x.col_indices()]).float())


def normalise_rows(graph: Any) -> Graph:
    """Divide the features of each node by the sum of their sizes; a row of zeros stays."""
    graph = as_graph(graph)
    return graph.replace(x=divide_rows(_features(graph)))


def log_features(graph: Any) -> Graph:
    """Take the logarithm of one plus the size of each feature, and keep its sign."""
    graph = as_graph(graph)
    return graph.replace(x=logarithm(_features(graph)))


def standardise(graph: Any, nodes: Tensor) -> Graph:
    """Bring features to mean 0 and standard deviation 1 over some nodes.

    Mean and deviation come from ``nodes`` alone: give the training nodes, and nothing about the
    others leaks into what the model sees. Columns that are constant there are only centred. Sparse
    features stay sparse: they are divided by their deviation and not centred.

    Args:
        graph: a graph with features.
        nodes: numbers of nodes, or a mask.
    """
    graph = as_graph(graph)
    x = _features(graph)
    nodes = nodes.nonzero()[:, 0] if nodes.dtype == torch.bool else nodes
    if not len(nodes):
        raise GraphError("Expected `nodes` to hold at least one node to fit on, got none.")
    return graph.replace(x=scale_columns(x, *column_scales(select_rows(x, nodes))))


def _mean_and_spread(x: Tensor) -> tuple[Tensor, Tensor]:
    if x.layout != torch.sparse_csr:
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


def _with_values(x: Tensor, values: Tensor) -> Tensor:
    if x.layout == torch.sparse_csr:
        return csr_matrix(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))
    return values


def _or_one(scale: Tensor) -> Tensor:
    return torch.where(scale > 0, scale, 1.0)
