"""The forms in which PyTorch Geometric passes edges, as an edge list."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from hgcn.errors import GraphError
from hgcn.kernels import kept_with


class EdgeList(NamedTuple):
    """Edges, and what their container says of them.

    Attributes:
        edge_index: shape ``[2, E]``, sources and targets.
        weight: the values of a sparse matrix, shape ``[E]``.
        size: the numbers of sources and targets, where the container has them.
    """

    edge_index: Tensor
    weight: Tensor | None
    size: tuple[int | None, int | None]


def edge_list(edges: Any) -> EdgeList:
    """An edge list of a transposed sparse matrix ``adj_t``, a ``SparseTensor`` or an ``EdgeIndex``.

    Row i of ``adj_t`` has the neighbours of target i. The list is kept with the matrix.
    """
    if hasattr(edges, "as_tensor") and hasattr(edges, "sparse_size"):  # PyG's EdgeIndex
        return EdgeList(edges.as_tensor(), None, edges.sparse_size())
    if isinstance(edges, Tensor):
        dense = edges.layout is torch.strided
        return EdgeList(edges, None, (None, None)) if dense else _of_sparse(edges)
    if hasattr(edges, "coo") and hasattr(edges, "sparse_sizes"):  # torch_sparse's SparseTensor
        row, column, value = edges.coo()
        targets, sources = edges.sparse_sizes()
        # The list is kept with one of the two tensors, and holds the other, so that no third one
        # can have its id.
        key = (id(row), row._version)
        stacked, _ = kept_with(column, key, lambda c: (torch.stack((c, row)), row))
        return EdgeList(stacked, value, (sources, targets))
    raise GraphError(
        "Expected `edge_index` to be an integer tensor of shape [2, number of edges], a sparse "
        f"adjacency matrix or an EdgeIndex, got {type(edges).__name__}."
    )


def _of_sparse(adj_t: Tensor) -> EdgeList:
    if adj_t.dim() != 2:
        raise GraphError(
            "Expected a sparse adjacency matrix to have shape [targets, sources], got "
            f"{list(adj_t.shape)}."
        )
    if adj_t.layout is torch.sparse_coo:
        adj_t = adj_t.coalesce()
    elif adj_t.layout not in (torch.sparse_csr, torch.sparse_csc):
        raise GraphError(
            "Expected a sparse adjacency matrix of layout COO, CSR or CSC, got "
            f"{str(adj_t.layout).removeprefix('torch.')}."
        )
    stacked: Tensor = kept_with(adj_t, (), _stacked)
    return EdgeList(stacked, adj_t.values(), (adj_t.shape[1], adj_t.shape[0]))


def _stacked(adj_t: Tensor) -> Tensor:
    """Columns, the sources, over rows, the targets, in the order of the values."""
    if adj_t.layout is torch.sparse_coo:
        return adj_t.indices().flip(0)
    if adj_t.layout is torch.sparse_csr:
        start, column = adj_t.crow_indices(), adj_t.col_indices()
        return torch.stack((column, _repeated(start)))
    start, row = adj_t.ccol_indices(), adj_t.row_indices()
    return torch.stack((_repeated(start), row))


def _repeated(start: Tensor) -> Tensor:
    numbers = torch.arange(len(start) - 1, device=start.device)
    return numbers.repeat_interleave(start.diff())
