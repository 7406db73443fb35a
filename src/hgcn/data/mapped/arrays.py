"""Arrays in ``.npy`` files: written piece by piece, mapped read-only, and checked."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from hgcn.errors import DataError

PIECE = 1 << 24
"""Bytes that are hashed or copied at a time."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say plainly if a file cannot be written, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"Expected to write {error.filename or path}, but: {error.strerror or error}. What is "
            "done so far is kept: give the same command again, and it goes on from there."
        ) from error


class ArrayFile:
    """An array that is written in pieces, in any order, without being held in memory.

    Args:
        path: the file.
        dtype: the type of its entries.
        shape: its shape. A file that is there with this type and shape keeps its entries.
    """

    def __init__(self, path: Path, dtype: Any, shape: Sequence[int]) -> None:
        self.dtype, self.shape = np.dtype(dtype), tuple(int(size) for size in shape)
        self._width = math.prod(self.shape[1:])
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "w+b")
        npy.write_array_header_1_0(self._file, {**header, "shape": self.shape})
        self._start = self._file.tell()
        self._file.truncate(self._start + math.prod(self.shape) * self.dtype.itemsize)

    def write(self, at: int, values: NDArray[Any]) -> None:
        """Write entries from a position on, counted in entries of the first axis."""
        self.write_flat(at * self._width, values)

    def write_flat(self, at: int, values: NDArray[Any]) -> None:
        """Write entries from a position on, counted in entries of the array laid out in a row."""
        self._file.seek(self._start + at * self.dtype.itemsize)
        content = np.ascontiguousarray(values, self.dtype)
        if content.size:
            self._file.write(content.reshape(-1).view(np.uint8).data)

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a whole array."""
    with ArrayFile(path, array.dtype, array.shape) as file:
        step = max(1, PIECE // max(1, array[:1].nbytes))
        for start in range(0, len(array), step):
            file.write(start, array[start : start + step])


class Growing:
    """An array whose length is not known before: pieces are added at its end."""

    def __init__(self, path: Path, dtype: Any) -> None:
        path.unlink(missing_ok=True)
        self._path, self._dtype, self.length = path, np.dtype(dtype), 0
        self._file = ArrayFile(path, dtype, (0,))

    def add(self, values: NDArray[Any]) -> None:
        """Write entries at the end."""
        self._file.write(self.length, values)
        self.length += len(values)

    def __enter__(self) -> Growing:
        return self

    def __exit__(self, *error: Any) -> None:
        with self._file:
            pass
        with ArrayFile(self._path, self._dtype, (self.length,)):
            pass


def describe(path: Path) -> dict[str, Any]:
    """What the list of arrays says of a file, which is on the disk then: type, shape, checksum."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": checksum(path)}


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_array(path: Path, about: Any) -> NDArray[Any]:
    """An array, mapped read-only, if its header and size are what the list of arrays says."""
    reason = "it is missing"
    try:
        dtype, shape = np.dtype(about["dtype"]), tuple(int(size) for size in about["shape"])
        with path.open("rb") as file:
            npy.read_magic(file)
            found = npy.read_array_header_1_0(file)
            start = file.tell()
        if found != (shape, False, dtype) or dtype.kind not in "biufU":
            reason = f"it holds {found[2]} of shape {list(found[0])}"
        elif path.stat().st_size != start + math.prod(shape) * dtype.itemsize:
            reason = f"it has {path.stat().st_size:,} bytes"
        elif not math.prod(shape):  # nothing can be mapped
            return np.zeros(shape, dtype)
        else:
            return np.memmap(path, dtype, "r", start, shape)
    except FileNotFoundError:
        pass
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, TypeError, KeyError, SyntaxError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
    said = "an array"
    if isinstance(about, dict) and {"dtype", "shape"} <= set(about):
        said = f"{about['dtype']} of shape {about['shape']}"
    raise DataError(
        f"Expected {said} in {path}, but {reason}. The folder is damaged or was copied in part: "
        "convert the source again."
    )


def forget(array: NDArray[Any]) -> None:
    """Give back the memory that the pages of a mapped array take; they stay on the disk."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def as_tensor(array: NDArray[Any]) -> Tensor:
    """A tensor that shares the memory of an array, which nobody may write to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.from_numpy(np.asarray(array))


def pieces(length: int, step: int) -> Iterable[slice]:
    """Slices of a range, each of at most ``step``."""
    return (slice(start, min(start + step, length)) for start in range(0, length, step))
