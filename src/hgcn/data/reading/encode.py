"""Columns of a table: cleaned, as classes, or as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hgcn.data.columns import codes_of
from hgcn.data.reading.ids import NO_ID
from hgcn.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

MISSING = (*NO_ID, "NA", "N/A", "n/a", "<NA>")
PLAIN_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$"


def clean_text(column: pl.Series) -> pl.Series:
    """Text without spaces around and without words for "missing", numbers without NaN."""
    import polars as pl

    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column
    text = column.cast(pl.String, strict=False).str.strip_chars()
    return text.set(text.is_in(MISSING), None)


def without_text(column: pl.Series) -> pl.Series:
    """A column as numbers, if nothing is lost by it: they take less room than their text.

    Something is lost of ``007``, which is perhaps a code.
    """
    import polars as pl

    if column.dtype != pl.String or not column.str.contains(PLAIN_NUMBER).fill_null(True).all():
        return column
    numbers = column.cast(pl.Float64)
    with np.errstate(over="ignore"):  # too large for a feature: the error shows how it is written
        fits = not np.isinf(numbers.to_numpy().astype(np.float32)).any()
    return numbers if fits and column.null_count() < len(column) else column


def encode_classes(
    column: pl.Series, location: Callable[[int], str]
) -> tuple[Tensor, tuple[str, ...], int]:
    """Classes 0, 1, ... in the order of their names, the names, and how many are missing.

    Whole numbers are ordered as numbers, and -1 among them means missing, as in a graph.
    """
    import polars as pl

    column = clean_text(column)
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        whole = numbers.cast(pl.Int64, strict=False)
        broken = (whole.cast(pl.Float64) != numbers).fill_null(False)
        if broken.any():
            row = broken.arg_max() or 0
            raise DataError(
                f"Expected labels to be classes, got the number {column[row]} ({location(row)}). "
                "Classes are names or whole numbers."
            )
        column = whole.set(whole == -1, None)
        if numbers.drop_nulls().n_unique() == 2 and column.drop_nulls().n_unique() == 1:
            raise DataError(
                f"Expected two classes or more, got only -1, which means unknown, and one other "
                f"({location(0)}). Write the two classes as 0 and 1."
            )
    kinds = column.drop_nulls().unique().sort()
    if not len(kinds):
        raise DataError(f"Expected labels, got none but missing ones ({location(0)}).")
    y = torch.from_numpy(codes_of(column, kinds))
    return y, tuple(str(kind) for kind in kinds), column.null_count()


def plain_column(column: pl.Series, rows: np.ndarray) -> np.ndarray:
    """A column as numbers or text, taken at ``rows``; NaN or "" where there is no value or row."""
    import polars as pl

    column = clean_text(column)
    if column.dtype == pl.String:
        whole = column.cast(pl.Int64, strict=False)
        numbers = column.cast(pl.Float64, strict=False)
        for cast in (whole, numbers):
            if cast.null_count() == column.null_count() < len(column):
                column = cast
                break
    lacking = bool((rows < 0).any()) or column.null_count() > 0
    if column.dtype == pl.String:
        values = np.array(column.fill_null("").to_list(), dtype=np.str_)
        return np.where(rows < 0, "", values[rows])
    values = (
        column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if lacking
        else (column.to_numpy())
    )
    return np.where(rows < 0, np.nan, values[rows]) if lacking else values[rows]
