"""Node data in rows: ``.npy`` and ``.npz`` files, arrays, tensors and sparse matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.graph import csr_matrix
from hgcn.errors import DataError

ARRAY_ENDINGS = (".npy", ".npz")


def load_array(path: Path) -> Any:
    """A NumPy array or a SciPy sparse matrix; pickled objects are never loaded."""
    if not path.is_file():
        raise DataError(f"Expected a file, got none ({path}).")
    try:
        # Opened here, as NumPy leaves a file open that it cannot read.
        with path.open("rb") as opened:
            content = np.load(opened, allow_pickle=False)
            if not isinstance(content, np.lib.npyio.NpzFile):
                return content
            if "format" not in content.files:
                return _only_array(content, path)
        return _load_sparse(path)
    except DataError:
        raise
    except Exception as error:  # damage makes NumPy's header parser raise a dozen kinds
        if "pickle" in str(error):
            raise DataError(
                f"Expected an array of numbers, got something pickled ({path}). Pickles can run "
                "code and are never loaded. If it is yours, save it again as an array of numbers."
            ) from None
        raise DataError(
            f"Expected a NumPy file, got a damaged or different one ({path}). Write it again with "
            "numpy.save, numpy.savez or scipy.sparse.save_npz."
        ) from None


def _only_array(file: Any, path: Path) -> np.ndarray:
    if len(file.files) != 1:
        raise DataError(
            f"Expected one array, got {len(file.files)}: {', '.join(file.files)} ({path}). "
            "Save the one to use in a file of its own."
        )
    return file[file.files[0]]


def _load_sparse(path: Path) -> Any:
    from scipy import sparse

    matrix = sparse.load_npz(path).tocsr()
    matrix.check_format(full_check=True)
    return matrix


def as_features(value: Any, path: str = "features") -> Tensor:
    """A float32 matrix from a tensor, an array or a sparse matrix; sparse ones become CSR.

    Example:
        >>> as_features([[1, 0], [0, 2]]).dtype
        torch.float32
    """
    if isinstance(value, Tensor) and value.layout != torch.strided:
        entries = value.detach().cpu().to_sparse(2).coalesce()
        row, column = entries.indices()
        return _csr(row, column, entries.values(), tuple(value.shape), path)
    if hasattr(value, "tocsr"):
        entries = value.tocsr().tocoo()
        entries.sum_duplicates()
        row, column = (torch.from_numpy(i.astype(np.int64)) for i in (entries.row, entries.col))
        order = torch.argsort(row, stable=True)
        values = _numbers(entries.data, path)[order]
        return _csr(row[order], column[order], values, value.shape, path)
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
        _refuse(dense[row, column].item(), row, column, path)
    return dense


def _numbers(value: Any, path: str) -> Tensor:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise DataError(f"Expected features to be numbers, got {array.dtype} ({path}).")
    with np.errstate(over="ignore"):  # what is beyond float32 is refused as infinite
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


def _csr(row: Tensor, column: Tensor, values: Tensor, shape: Any, path: str) -> Tensor:
    values = values.to(torch.float32)
    wrong = (~values.isfinite()).nonzero()
    if len(wrong):
        at = int(wrong[0])
        _refuse(values[at].item(), int(row[at]), int(column[at]), path)
    count = torch.bincount(row, minlength=shape[0])
    start = torch.cat((count.new_zeros(1), count.cumsum(0)))
    return csr_matrix(start, column.contiguous(), values, (shape[0], shape[1]))


def _refuse(value: float, row: int, column: int, path: str) -> None:
    raise DataError(
        f"Expected features to be finite, got {value} at row {row}, column {column} ({path}). "
        "Fill in what is missing before; in a table, leave the cell empty."
    )
