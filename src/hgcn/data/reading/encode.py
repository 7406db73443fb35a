"""Columns of a table as features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hgcn.data.reading.ids import NO_ID
from hgcn.data.reading.tables import Frame
from hgcn.errors import DataError
from hgcn.text import count, one_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

MISSING = (*NO_ID, "NA", "N/A", "n/a", "<NA>")
MAX_CATEGORIES = 256


def encode_features(
    frame: Frame, names: Sequence[str]
) -> tuple[Tensor, tuple[str, ...], list[str]]:
    """A matrix made of columns (numbers as they are, categories one-hot), its names, and notes.

    A missing number becomes the mean of its column and sets an indicator column; a missing category
    is a category of its own.
    """
    blocks: list[np.ndarray] = []
    titles: list[str] = []
    notes: list[str] = []
    for name in names:
        column = clean_text(column_of(frame, name))
        missing = column.null_count()
        if missing == len(column):
            raise DataError(
                f"Expected values in the column {name!r}, got none ({frame.path}). Leave it out."
            )
        numbers = _numbers(column, frame, name)
        if numbers is None:
            block, names_of_block = _one_hot(column, frame, name)
        else:
            block, names_of_block = _fill(numbers, name)
        blocks.append(block)
        titles += names_of_block
        if missing:
            how = "an own category" if numbers is None else "the mean, marked in an own column"
            notes.append(f"Features: {count(missing, 'missing value')} of {name!r} became {how}.")
    return torch.from_numpy(np.concatenate(blocks, axis=1)), tuple(titles), notes


def column_of(frame: Frame, name: str) -> pl.Series:
    """A column, or an error that suggests the near miss."""
    if name not in frame.data.columns:
        raise DataError(one_of("column", name, frame.data.columns) + f" ({frame.path})")
    return frame.data.get_column(name)


def clean_text(column: pl.Series) -> pl.Series:
    """Text without spaces around and without words for "missing", numbers without NaN."""
    import polars as pl

    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column
    text = column.cast(pl.String, strict=False).str.strip_chars()
    return text.set(text.is_in(MISSING), None)


def _numbers(column: pl.Series, frame: Frame, name: str) -> np.ndarray | None:
    """The column as numbers with NaN for missing, or None if it holds categories."""
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    words = numbers.is_null() & column.is_not_null()
    given = len(column) - column.null_count()
    if words.any():
        if words.sum() * 2 > given:
            return None
        row = words.arg_max() or 0
        raise DataError(
            f"Expected numbers in the column {name!r}, got {column[row]!r} "
            f"({frame.location(row)}). Leave the cell empty if the value is missing."
        )
    values = numbers.fill_null(float("nan")).to_numpy()
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(np.float32))
    if infinite.any():
        row = int(infinite.argmax())
        raise DataError(
            f"Expected finite numbers in the column {name!r}, got {column[row]} "
            f"({frame.location(row)}). Leave the cell empty if the value is missing."
        )
    return values


def _fill(values: np.ndarray, name: str) -> tuple[np.ndarray, list[str]]:
    missing = np.isnan(values)
    if not missing.any():
        return values[:, None].astype(np.float32), [name]
    filled = np.where(missing, values[~missing].mean(), values)
    return np.stack((filled, missing), axis=1).astype(np.float32), [name, f"{name} missing"]


def _one_hot(column: pl.Series, frame: Frame, name: str) -> tuple[np.ndarray, list[str]]:
    kinds = column.drop_nulls().unique().sort()
    if len(kinds) > MAX_CATEGORIES:
        raise DataError(
            f"Expected at most {MAX_CATEGORIES} categories in the column {name!r}, got "
            f"{len(kinds):,}, such as {kinds[0]!r} ({frame.path}). "
            "Name the columns to use as features: features=[...]."
        )
    titles = [f"{name} = {kind}" for kind in kinds]
    codes = codes_of(column, kinds)
    if column.null_count():
        titles.append(f"{name} missing")
        codes = np.where(codes < 0, len(kinds), codes)
    return np.eye(len(titles), dtype=np.float32)[codes], titles


def codes_of(column: pl.Series, kinds: pl.Series) -> np.ndarray:
    """The position of each value among the distinct ones, -1 for missing."""
    import polars as pl

    at = pl.Series(range(len(kinds)), dtype=pl.Int64)
    return column.replace_strict(kinds, at, default=-1, return_dtype=pl.Int64).to_numpy()


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
    y = torch.from_numpy(codes_of(column, kinds).copy())
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
