"""Matrices with a row for each node, dense or sparse; sparse ones are CSR tensors.

Each function takes both layouts and keeps the one it was given. The columns of a row of a CSR
matrix rise, so no entry is there twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.errors import DataError


def csr_matrix(
    crow: Tensor, column: Tensor, values: Tensor, shape: Sequence[int], *, checked: bool = True
) -> Tensor:
    """A CSR tensor, without the warning of torch that its CSR layout is in beta.

    Args:
        crow: the position of the first entry of each row, and at last the number of entries.
        column: the column of each entry.
        values: the value of each entry.
        shape: number of rows and of columns.
        checked: whether torch looks for faults.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        column = column.to(crow.dtype)
        return torch.sparse_csr_tensor(crow, column, values, tuple(shape), check_invariants=checked)


def is_csr(x: Tensor) -> bool:
    """Whether a matrix is sparse."""
    return x.layout == torch.sparse_csr


def stored_values(x: Tensor) -> Tensor:
    """The values of a matrix: of a sparse one those that are stored, in one row."""
    return x.values() if is_csr(x) else x


def all_finite(values: Tensor, then: Callable[[], None] | None = None) -> bool:
    """Whether no value is NaN or infinite; some rows are looked at at a time.

    Args:
        values: the values.
        then: called after each of these blocks of rows.
    """
    rows = max(1, (1 << 24) // max(1, values[:1].numel()))
    for block in torch.split(values, rows):
        if not bool(block.isfinite().all()):
            return False
        if then is not None:
            then()
    return True


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """A matrix with other values, of which a sparse one stores the same entries."""
    return csr_matrix(x.crow_indices(), x.col_indices(), values, x.shape) if is_csr(x) else values


def entry_rows(x: Tensor) -> Tensor:
    """The row of each stored entry of a CSR matrix."""
    rows = torch.arange(len(x), device=x.device)
    return rows.repeat_interleave(x.crow_indices().diff(), output_size=len(x.values()))


def last_entries(crow: Tensor, width: int) -> Tensor:
    """The positions, among all stored entries, of the last ones of each row of a CSR matrix.

    Args:
        crow: the position of the first entry of each row, and at last the number of entries.
        width: number of entries to take of each row; no row may have fewer.

    Returns:
        Positions of shape ``[rows, width]``.
    """
    return crow[1:, None] + torch.arange(-width, 0, device=crow.device)


def has_sorted_rows(x: Tensor) -> bool:
    """Whether the columns of each row rise, so that no entry is there twice."""
    if not is_csr(x):
        return True
    falls = x.col_indices().diff() <= 0
    first = x.crow_indices()[1:-1].long()  # where a row begins, columns may fall
    falls[first[(first > 0) & (first <= len(falls))] - 1] = False
    return not bool(falls.any())


def select_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Some rows of a matrix, in the order given."""
    if not is_csr(x):
        return x[rows]
    start, count = x.crow_indices()[rows], x.crow_indices().diff()[rows]
    crow = _starts(count)
    position = torch.arange(size := int(crow[-1]), device=crow.device)
    position += (start - crow[:-1]).repeat_interleave(count, output_size=size)
    shape = (len(rows), x.shape[1])
    return csr_matrix(crow, x.col_indices()[position], x.values()[position], shape)


def first_rows(x: Tensor, count: int) -> Tensor:
    """The first rows of a matrix; the matrix itself if these are all."""
    if count == len(x):
        return x
    if x.layout is torch.strided:
        return x[:count]
    return select_rows(x, torch.arange(count, device=x.device))


def select_columns(x: Tensor, columns: Sequence[int]) -> Tensor:
    """All columns of a matrix, in another order."""
    if not is_csr(x):
        return x[:, list(columns)]
    place = torch.empty(len(columns), dtype=torch.int64)
    place[torch.tensor(columns)] = torch.arange(len(columns))
    column, row = place[x.col_indices().long()], entry_rows(x)
    order = torch.argsort(row * x.shape[1] + column)
    return csr_matrix(x.crow_indices().long(), column[order], x.values()[order], x.shape)


def stack_rows(matrices: Sequence[Tensor]) -> Tensor:
    """Matrices one below the other; sparse if all of them are."""
    if not all(is_csr(x) for x in matrices):
        return torch.cat([x.to_dense() for x in matrices])
    return csr_matrix(
        _starts(torch.cat([x.crow_indices().diff() for x in matrices])),
        torch.cat([x.col_indices() for x in matrices]),
        torch.cat([x.values() for x in matrices]),
        (sum(len(x) for x in matrices), matrices[0].shape[1]),
    )


def append_columns(x: Tensor, more: Tensor) -> Tensor:
    """A matrix with more columns on the right; a CSR matrix stores each entry of them."""
    if not is_csr(x):
        return torch.cat((x, more), dim=1)
    (rows, columns), width = x.shape, more.shape[1]
    crow = x.crow_indices() + width * torch.arange(rows + 1, device=x.device)
    column, values = x.col_indices().long(), x.values().to(more.dtype)
    new_column = column.new_empty(int(crow[-1]))
    new_values = values.new_empty(int(crow[-1]))
    last = last_entries(crow, width)
    old = torch.ones_like(new_column, dtype=torch.bool).index_fill_(0, last.flatten(), False)
    new_column[old], new_values[old] = column, values
    new_column[last] = torch.arange(columns, columns + width, device=x.device)
    new_values[last] = more
    return csr_matrix(crow, new_column, new_values, (rows, columns + width))


def as_features(value: Any, path: str = "features", first: int = 0) -> Tensor:
    """A float32 matrix from a tensor, an array or a sparse matrix; sparse ones become CSR.

    Example:
        >>> as_features([[1, 0], [0, 2]]).dtype
        torch.float32

    Args:
        value: a tensor, anything that NumPy takes as an array, or a SciPy sparse matrix.
        path: name of the source, for errors.
        first: the number of the first row, for errors.
    """
    if isinstance(value, Tensor) and value.layout != torch.strided:
        entries = value.detach().cpu().to_sparse(2).coalesce()
        row, column = entries.indices()
        return _from_entries(row, column, entries.values(), value.shape, path)
    if hasattr(value, "tocsr"):
        return _from_scipy(value.tocsr(), path)
    dense = value.detach().cpu() if isinstance(value, Tensor) else _numbers(value, path)
    if dense.dim() != 2:
        raise DataError(
            f"Expected features to be a matrix with a row for each node, got shape "
            f"{list(dense.shape)} ({path})."
        )
    dense = dense.to(torch.float32)
    wrong = (~dense.isfinite()).nonzero()
    if len(wrong):
        row, column = wrong[0].tolist()
        _refuse(dense[row, column].item(), first + row, column, path)
    return dense


def _from_scipy(matrix: Any, path: str) -> Tensor:
    if matrix.has_canonical_format:  # sorted, nothing twice: as it is stored
        crow, column = (
            torch.from_numpy(i.astype(np.int64)) for i in (matrix.indptr, matrix.indices)
        )
        values = _numbers(matrix.data, path).clone()  # the caller may change theirs
        if bool(values.isfinite().all()):
            return csr_matrix(crow, column, values, matrix.shape)
    entries = matrix.tocoo()
    entries.sum_duplicates()
    row, column = (torch.from_numpy(i.astype(np.int64)) for i in (entries.row, entries.col))
    order = torch.argsort(row, stable=True)
    values = _numbers(entries.data, path)[order]
    return _from_entries(row[order], column[order], values, matrix.shape, path)


def _from_entries(
    row: Tensor, column: Tensor, values: Tensor, shape: Sequence[int], path: str
) -> Tensor:
    values = values.to(torch.float32)
    wrong = (~values.isfinite()).nonzero()
    if len(wrong):
        position = int(wrong[0])
        _refuse(values[position].item(), int(row[position]), int(column[position]), path)
    crow = _starts(torch.bincount(row, minlength=shape[0]))
    return csr_matrix(crow, column.contiguous(), values, shape)


def _starts(count: Tensor) -> Tensor:
    """The position of the first entry of each row, given the numbers of entries; then their sum."""
    return torch.cat((count.new_zeros(1), count.cumsum(0)))


def _numbers(value: Any, path: str) -> Tensor:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise DataError(f"Expected features to be numbers, got {array.dtype} ({path}).")
    with np.errstate(over="ignore"):  # what is beyond float32 is refused as infinite
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def _refuse(value: float, row: int, column: int, path: str) -> None:
    raise DataError(
        f"Expected features to be finite, got {value} at row {row}, column {column} ({path}). "
        "Fill in what is missing before; in a table, leave the cell empty."
    )
