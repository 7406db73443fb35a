"""Points that somebody already has, read from a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hgcn.data.reading.ids import as_array
from hgcn.data.reading.nodes import Keyed, open_table
from hgcn.errors import DataError, GeometryError
from hgcn.nearest.points import Points, normal_points


def read_points(path: str | Path, *, coordinates: str = "normal", c: float | None = 1.0) -> Points:
    """The points of a table: the first column is the id, all others are coordinates.

    Args:
        path: a ``.csv``, ``.tsv`` or ``.parquet`` file, such as `hgcn embed` writes.
        coordinates: "normal", "hyperboloid" or "ball".
        c: the space has sectional curvature ``-c``; None or 0 for a flat one.
    """
    table = open_table(path, "the points")
    if not table.columns:
        raise DataError(f"Expected an id and coordinates in each row, got an id only ({path}).")
    x = np.stack([_numbers(table, name) for name in table.columns], axis=1)
    try:
        z, space = normal_points(x, coordinates=coordinates, c=c)
    except (DataError, GeometryError) as error:
        raise DataError(f"{error} ({path}; `coordinates` is {coordinates!r}.)") from error
    return Points(z, space, as_array(table.ids), str(path))


def _numbers(table: Keyed, name: str) -> np.ndarray:
    import polars as pl

    column = table.frame.data.get_column(name)
    numbers = column.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | ~numbers.is_finite()
    if bad.any():
        row = bad.arg_max() or 0
        raise DataError(
            f"Expected a finite coordinate in the column {name!r}, got {column[row]!r} "
            f"({table.frame.location(row)}). Behind the id, all columns are coordinates."
        )
    return numbers.to_numpy()
