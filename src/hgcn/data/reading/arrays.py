"""Arrays and sparse matrices in ``.npy`` and ``.npz`` files."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from hgcn.data.reading.bounds import check_file, check_growth
from hgcn.errors import DataError

ARRAY_ENDINGS = (".npy", ".npz")
_HINT = "Save numbers that are mostly zeros with scipy.sparse.save_npz."


def load_array(path: Path, *, mapped: bool = False) -> Any:
    """A NumPy array with rows, or a SciPy sparse matrix; pickled objects are never loaded.

    Args:
        path: the file.
        mapped: whether an array of an ``.npy`` file stays on the disk.
    """
    check_file(path)
    array = _load(path, mapped)
    if not array.ndim:
        raise DataError(f"Expected an array with a row for each node, got one value ({path}).")
    return array


def _load(path: Path, mapped: bool) -> Any:
    try:
        # Opened here, as NumPy leaves a file open that it cannot read.
        with path.open("rb") as opened:
            head = opened.read(len(npy.MAGIC_PREFIX))
            opened.seek(0)
            if head.startswith(b"PK"):
                return _load_archive(path)
            if head == npy.MAGIC_PREFIX:
                _check_header(opened, path.stat().st_size)
                opened.seek(0)
            return np.load(path if mapped else opened, "r" if mapped else None, allow_pickle=False)
    except DataError:
        raise
    except MemoryError:
        raise DataError(
            f"Expected an array that fits into memory, got a larger one ({path})."
        ) from None
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


def _check_header(file: IO[bytes], size: int) -> None:
    """Refuse an array whose header claims more than the file, of this size, can hold."""
    version = npy.read_magic(file)
    # Version 3 differs from 2 in the names of fields only, which no array of numbers has.
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("pickled objects")
    claimed = math.prod(shape) * dtype.itemsize
    # An array without columns, or of empty texts, has no bytes however many rows it claims.
    if claimed > size or max(shape, default=0) > size:
        raise ValueError(f"an array of shape {shape} does not fit into {size} bytes")


def _load_archive(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        check_growth(path, sum(member.file_size for member in members), _HINT)
        for member in members:
            with archive.open(member) as file:
                _check_header(file, member.file_size)
    with np.load(path, allow_pickle=False) as content:
        if "format" in content.files:
            return _load_sparse(path, content)
        if len(content.files) != 1:
            raise DataError(
                f"Expected one array, got {len(content.files)}: {', '.join(content.files[:5])} "
                f"({path}). Save the one to use in a file of its own."
            )
        return content[content.files[0]]


def _load_sparse(path: Path, content: Any) -> Any:
    from scipy import sparse

    # All other forms become rows, whose number the file may only claim.
    check_growth(path, 8 * int(content["shape"][0]), _HINT)
    matrix = sparse.load_npz(path).tocsr()
    matrix.check_format(full_check=True)
    return matrix
