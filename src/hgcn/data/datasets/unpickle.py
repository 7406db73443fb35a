"""Reads the pickles of old data sets without running anything that is in them.

A pickle is a program: it names functions and calls them. Here every name it may use stands for an
inert class of this file, which only keeps the values it is given; any other name is an error. Not
even NumPy's or SciPy's own functions are called on what a file says.
"""

from __future__ import annotations

import io
import pickle  # nosec B403  # only its machine: no name of a file is ever looked up
import re
from pathlib import Path
from typing import Any, ClassVar

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


# Left out: sets, whose elements may be built to take years to hash; an array of bytes that makes
# room for whatever length the pickle states; and names that stand in a table of the interpreter.
UNKNOWN = (
    pickle.EMPTY_SET + pickle.ADDITEMS + pickle.FROZENSET + pickle.BYTEARRAY8
    + pickle.EXT1 + pickle.EXT2 + pickle.EXT4
)  # fmt: skip


_Machine: Any = pickle._Unpickler


class _Unpickler(_Machine):  # type: ignore[misc]
    """The unpickler that is written in Python.

    The one in C makes room for whatever a pickle announces: ten bytes can ask for gigabytes.
    """

    dispatch: ClassVar[dict[int, Any]] = {
        code: read for code, read in _Machine.dispatch.items() if code not in UNKNOWN
    }

    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in ADMITTED:
            raise DataError(
                f"Expected only arrays and plain containers, got a reference to `{module}.{name}`. "
                "Nothing of it was run."
            )
        return ADMITTED[module, name]

    def _check_keys(self, keys: list[Any]) -> None:
        """Refuse all but simple keys: a tuple of tuples may be built to take years to hash."""
        for key in keys:
            if not isinstance(key, str | bytes | int | float):
                raise DataError(f"Expected numbers and text as keys, got {type(key).__name__}.")

    def load_setitem(self) -> None:
        self._check_keys(self.stack[-2:-1])
        super().load_setitem()

    def load_setitems(self) -> None:
        self._check_keys(self.stack[::2])
        super().load_setitems()

    def load_dict(self) -> None:
        self._check_keys(self.stack[::2])
        super().load_dict()

    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.DICT[0]] = load_dict


def load_pickle(path: Path) -> Any:
    """The content of a pickle as dicts, lists, tuples, numbers, strings and NumPy arrays.

    An object of SciPy or networkx becomes the dict of its attributes.
    """
    try:
        # From memory: a file would make room for as many bytes as the pickle announces.
        content = io.BytesIO(path.read_bytes())
        return _plain(_Unpickler(content, encoding="latin1").load(), {})
    # A damaged pickle can raise almost anything, from EOFError to RecursionError.
    except Exception as error:
        reason = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path.name}: cannot be read as an old pickle. {reason}") from error


def _plain(value: Any, made: dict[int, Any]) -> Any:
    """The value without stand-ins; ``made`` holds what was made of lists that occur often."""
    if isinstance(value, Array):
        return value.value
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) not in made:
        if isinstance(value, dict):
            plain: Any = {key: _plain(content, made) for key, content in value.items()}
        else:
            plain = [_plain(content, made) for content in value]
        made[id(value)] = tuple(plain) if isinstance(value, tuple) else plain
    return made[id(value)]
