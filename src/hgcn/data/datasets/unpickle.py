"""Reads the pickles of old data sets without running anything that is in them.

A pickle is a program: it names functions and calls them. Here every name it may use stands for an
inert class of this file, which only keeps the values it is given; any other name is an error. Not
even NumPy's or SciPy's own functions are called on what a file says.
"""

from __future__ import annotations

import pickle  # nosec B403  # only its machine: no name of a file is ever looked up
import re
from pathlib import Path
from typing import Any

import numpy as np

from hgcn.errors import DataError


class Name:
    """Stands for a class that is only mentioned, such as the ``list`` in ``defaultdict(list)``."""

    def __init__(self, *args: object) -> None:
        raise DataError("Expected a name to be mentioned, got a call of it.")

    def __setstate__(self, state: object) -> None:
        raise DataError("Expected a name to be mentioned, got one with contents.")


class Record(dict[Any, Any]):
    """Stands for an object, and keeps its attributes as a dict."""

    def __init__(self, *args: object) -> None:
        super().__init__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.update(state)


class Dtype:
    """Stands for ``numpy.dtype``; numbers only."""

    def __init__(self, code: str, *args: object) -> None:
        if not re.fullmatch(r"[<>|=]?[biuf][1248]", code):
            raise DataError(f"Expected an array of numbers, got one of type {code!r}.")
        self.value = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.value = self.value.newbyteorder("=" if state[1] == "|" else state[1])


class Array:
    """Stands for ``numpy.ndarray``, made by ``_reconstruct`` and filled afterwards."""

    def __init__(self, *args: object) -> None:
        self.value = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, by_columns, raw = state
        # Strings of Python 2 arrive as text in latin1, one character a byte.
        content = raw.encode("latin1") if isinstance(raw, str) else raw
        values = np.frombuffer(content, dtype.value)
        self.value = values.reshape(shape, order="F" if by_columns else "C")


class Bytes:
    """Stands for ``_codecs.encode``, by which Python 3 writes bytes in an old pickle."""

    def __new__(cls, text: str, encoding: str) -> bytes:  # type: ignore[misc]
        """The bytes of a text in latin1."""
        if encoding != "latin1":
            raise DataError(f"Expected bytes in latin1, got {encoding!r}.")
        return text.encode("latin1")

    def __setstate__(self, state: object) -> None:
        raise DataError("Expected bytes, got bytes with attributes.")


ADMITTED: dict[tuple[str, str], type] = {
    ("numpy", "ndarray"): Name,
    ("numpy", "dtype"): Dtype,
    ("numpy.core.multiarray", "_reconstruct"): Array,
    ("numpy._core.multiarray", "_reconstruct"): Array,
    ("scipy.sparse", "csr_matrix"): Record,
    ("scipy.sparse.csr", "csr_matrix"): Record,
    ("scipy.sparse._csr", "csr_matrix"): Record,
    ("networkx.classes.graph", "Graph"): Record,
    ("networkx.classes.reportviews", "NodeView"): Record,
    ("collections", "defaultdict"): Record,
    ("collections", "OrderedDict"): Record,
    ("__builtin__", "list"): Name,
    ("builtins", "list"): Name,
    ("__builtin__", "dict"): Name,
    ("builtins", "dict"): Name,
    ("_codecs", "encode"): Bytes,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in ADMITTED:
            raise DataError(
                f"Expected only arrays and plain containers, got a reference to `{module}.{name}`. "
                "Nothing of it was run."
            )
        return ADMITTED[module, name]


def load_pickle(path: Path) -> Any:
    """The content of a pickle as dicts, lists, tuples, numbers, strings and NumPy arrays.

    An object of SciPy or networkx becomes the dict of its attributes.
    """
    try:
        with path.open("rb") as file:
            return _plain(_Unpickler(file, encoding="latin1").load())
    # A damaged pickle can raise almost anything, from EOFError to RecursionError.
    except Exception as error:
        reason = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path.name}: cannot be read as an old pickle. {reason}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Array):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, list):
        return [_plain(content) for content in value]
    if isinstance(value, tuple):
        return tuple(_plain(content) for content in value)
    return value
