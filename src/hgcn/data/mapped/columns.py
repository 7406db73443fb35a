"""Columns of a feature table as plain arrays: numbers, or text as bytes and their ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hgcn.data.mapped.arrays import write_array
from hgcn.data.table import StoredColumns

if TYPE_CHECKING:
    import polars as pl


def write_column(folder: Path, stem: str, column: pl.Series) -> list[str]:
    """Write a column, and return the names of its files.

    ``STEM.npy`` has numbers, or the bytes of all texts one after the other, whose ends are in
    ``STEM-end.npy``. ``STEM-null.npy`` marks what is missing, where something is.
    """
    import polars as pl

    names = [f"{stem}.npy"]
    missing = column.is_null().to_numpy()
    if column.dtype == pl.String:
        column = column.fill_null("")
        content = "".join(column.to_list()).encode()
        write_array(folder / names[0], np.frombuffer(content, np.uint8))
        names.append(f"{stem}-end.npy")
        write_array(
            folder / names[-1], np.cumsum(column.str.len_bytes().to_numpy(), dtype=np.int64)
        )
    else:
        zero = False if column.dtype == pl.Boolean else 0
        write_array(folder / names[0], column.fill_null(zero).to_numpy())
    if missing.any():
        names.append(f"{stem}-null.npy")
        write_array(folder / names[-1], missing)
    return names


@dataclass(frozen=True)
class MappedColumns(StoredColumns):
    """Columns in mapped arrays.

    Args:
        height: the number of rows.
        stems: the beginning of the names of each column's files.
        arrays: all arrays of the folder by the names of their files.
    """

    height: int
    stems: Mapping[str, str]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The names of the columns."""
        return list(self.stems)

    def rows(self, at: np.ndarray | slice | None) -> pl.DataFrame:
        """Some rows, or all, brought to memory."""
        import polars as pl

        at = slice(None) if at is None else at
        return pl.DataFrame([self._column(name, stem, at) for name, stem in self.stems.items()])

    def _column(self, name: str, stem: str, at: np.ndarray | slice) -> pl.Series:
        import polars as pl

        values, ends = self.arrays[f"{stem}.npy"], self.arrays.get(f"{stem}-end.npy")
        if ends is None:
            column = pl.Series(name, np.array(values[at]))
        else:
            column = pl.Series(name, _texts(values, ends, at), dtype=pl.String)
        null = self.arrays.get(f"{stem}-null.npy")
        return column if null is None else column.set(pl.Series(np.array(null[at])), None)


def _texts(content: NDArray[Any], ends: NDArray[Any], at: np.ndarray | slice) -> list[str]:
    rows = np.arange(*at.indices(len(ends))) if isinstance(at, slice) else at
    last = ends[rows]
    first = np.where(rows > 0, ends[np.maximum(rows - 1, 0)], 0)
    spans = zip(first.tolist(), last.tolist(), strict=True)
    return [content[start:end].tobytes().decode() for start, end in spans]
