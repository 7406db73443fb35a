"""Arrays and sparse matrices in ``.npy`` and ``.npz`` files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

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
