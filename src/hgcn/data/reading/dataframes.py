"""Tables in memory: DataFrames of polars and pandas, neither of which need be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hgcn.data.pyg import is_from
from hgcn.data.reading.tables import Frame
from hgcn.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def is_dataframe(value: Any) -> bool:
    """Whether a value is a DataFrame."""
    return is_from("polars", "DataFrame", value) or is_from("pandas", "DataFrame", value)


def open_dataframe(value: Any, path: str) -> Frame:
    """A DataFrame as a table that was read.

    An index of pandas that has a name, or that holds text, is the first column: it tells ids. Other
    indices count rows, and are left out.

    Args:
        value: the DataFrame.
        path: its name, for errors.
    """
    import polars as pl

    if is_from("pandas", "DataFrame", value):
        value = pl.DataFrame(_columns(value, path))
    if not value.height:
        raise DataError(f"Expected rows, got none ({path}).")
    for name, dtype in value.schema.items():
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            raise DataError(
                f"Expected numbers or text in the column {name!r}, got {dtype} ({path})."
            )
    return Frame(value, path, lambda row: f"{path}, row {row}")


def _columns(value: Any, path: str) -> dict[str, pl.Series]:
    unnamed = all(name is None for name in value.index.names)
    if not unnamed or any(isinstance(label, str) for label in value.index[:1]):
        value = value.reset_index()
    names = list(map(str, value.columns))
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise DataError(f"Expected different names of columns, got {twice[0]!r} twice ({path}).")
    return {name: _series(name, value.iloc[:, at].tolist()) for at, name in enumerate(names)}


def _series(name: str, values: list[Any]) -> pl.Series:
    import polars as pl

    known = [None if is_missing(value) else value for value in values]
    if any(isinstance(value, str) for value in known):
        known = [None if value is None else str(value) for value in known]
    return pl.Series(name, known, strict=False)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or NaT, which differ from themselves, or NA, which is unsure."""
    if value is None or isinstance(value, list | tuple | dict | set | np.ndarray):
        return value is None
    same = value == value  # noqa: PLR0124
    return type(same).__name__ == "NAType" or not same
