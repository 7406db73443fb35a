"""From ids of nodes, of any type, to numbers of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hgcn.data.pairs import Ints
from hgcn.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

# What programs write for "nothing". NA is not among them: it is also a country.
NO_ID = ("", "nan", "NaN", "None", "null", "NULL")


WHOLE_NUMBER = r"^\s*(0|[1-9]\d*)(\.0+)?\s*$"


def tidy(ids: pl.Series, location: Callable[[int], str]) -> pl.Series:
    """Ids as int64 if all of them are whole numbers, else as text without spaces around.

    Text such as ``007`` stays text: it is not the number 7.
    """
    import polars as pl

    if ids.dtype.is_float():
        whole = ids.cast(pl.Int64, strict=False)
        ids = whole if (whole.cast(ids.dtype) == ids).all() else ids
    if ids.dtype.is_integer():
        _no_missing(ids.is_null(), ids, location)
        numbers = ids.cast(pl.Int64, strict=False)
        return ids.cast(pl.String) if numbers.null_count() else numbers
    text = ids.cast(pl.String, strict=False)
    for spaces in (False, True):  # spaces are rare, and take a while to remove
        text = text.str.strip_chars() if spaces else text
        numbers = text.cast(pl.Int64, strict=False)
        if not numbers.null_count() and _are_written_plainly(numbers, text):
            return numbers
    _no_missing(text.is_null() | text.is_in(NO_ID), text, location)
    return text


def as_text(ids: pl.Series, location: Callable[[int], str]) -> pl.Series:
    """Ids as text without spaces around; what stands for nothing is refused."""
    import polars as pl

    text = ids.cast(pl.String, strict=False)
    text = text if ids.dtype.is_numeric() else text.str.strip_chars()
    _no_missing(text.is_null() | text.is_in(NO_ID), text, location)
    return text


def has_points(column: pl.Series) -> bool:
    """Whether some ids of a column have a point."""
    import polars as pl

    text = column.dtype == pl.String
    return bool(column.dtype.is_float() or (text and column.str.contains(".", literal=True).any()))


def as_whole(column: pl.Series) -> pl.Series | None:
    """Ids, with or without a point, as whole numbers; None if some are none."""
    import polars as pl

    text = column.dtype == pl.String
    if text and not column.str.contains(WHOLE_NUMBER).fill_null(True).all():
        return None
    numbers = (column.str.strip_chars() if text else column).cast(pl.Float64, strict=False)
    whole = numbers.cast(pl.Int64, strict=False)
    return whole if (whole.cast(pl.Float64) == numbers).fill_null(True).all() else None


def same_numbers(*columns: pl.Series) -> list[pl.Series]:
    """Columns of ids as whole numbers, if some have a point (``3.0``) and all are whole numbers.

    A program that has met a missing value writes a column of whole numbers with points, and the
    column beside it without: both mean the same nodes.
    """
    if not any(map(has_points, columns)):
        return list(columns)
    found: list[pl.Series] = []
    for column in columns:
        whole = as_whole(column)
        if whole is None:
            return list(columns)
        found.append(whole)
    return found


def _are_written_plainly(numbers: pl.Series, text: pl.Series) -> bool:
    """Whether each text is its number without a plus sign or leading zeros.

    Either makes it longer, so it is enough to compare lengths, which takes a tenth of the time of
    writing the numbers anew.
    """
    values = numbers.to_numpy()
    length = 1 + (values < 0).astype(np.int8)
    power, largest = 10, max(-int(values.min()), int(values.max())) if len(values) else 0
    while power <= largest:
        length += (values >= power) | (values <= -power)
        power *= 10
    return np.array_equal(text.str.len_bytes().to_numpy(), length)


def _no_missing(missing: pl.Series, ids: pl.Series, location: Callable[[int], str]) -> None:
    if missing.any():
        row = missing.arg_max() or 0
        raise DataError(
            f"Expected an id of a node, got {ids[row] or 'nothing'} ({location(row)}). "
            "Remove rows without an id."
        )


def same_kind(*ids: pl.Series) -> list[pl.Series]:
    """Several lists of ids, all as whole numbers or all as text."""
    import polars as pl

    if len({series.dtype for series in ids}) == 1:
        return list(ids)
    return [series.cast(pl.String) for series in ids]


def factorise(ids: pl.Series) -> tuple[pl.Series, Ints]:
    """Distinct ids in order, and the number of each id among them."""
    import polars as pl

    if ids.dtype == pl.Int64:
        return _factorise_numbers(ids)
    distinct = ids.unique().sort()
    codes = ids.cast(pl.Enum(distinct)).to_physical().to_numpy()
    return distinct, codes.astype(np.int64)


def _factorise_numbers(ids: pl.Series) -> tuple[pl.Series, Ints]:
    import polars as pl

    numbers = ids.to_numpy()
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < 4 * len(numbers) + 1000:  # close together: a table of all of them is small
        seen = np.zeros(high - low + 1, bool)
        seen[numbers - low] = True
        distinct = np.flatnonzero(seen)
        return pl.Series(distinct + low), (np.cumsum(seen) - 1)[numbers - low]
    ordered = np.sort(numbers)
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
    return pl.Series(distinct), np.searchsorted(distinct, numbers).astype(np.int64)


def positions(ids: pl.Series, among: pl.Series) -> Ints:
    """The position of each id among others, which are distinct; -1 if it is not among them."""
    import polars as pl

    ids, among = same_kind(ids, among)
    left = pl.DataFrame({"id": ids})
    right = pl.DataFrame({"id": among}).with_row_index("at")
    found = left.join(right, on="id", how="left", maintain_order="left").get_column("at")
    return found.cast(pl.Int64).fill_null(-1).to_numpy(writable=True)


def first_repeat(ids: pl.Series) -> int | None:
    """The row of the first id that stood in an earlier row."""
    again = ~ids.is_first_distinct()
    return again.arg_max() if again.any() else None


def as_array(ids: pl.Series) -> np.ndarray:
    """Ids as the array that a graph holds: int64 or text."""
    import polars as pl

    return ids.to_numpy() if ids.dtype == pl.Int64 else np.array(ids.to_list(), dtype=np.str_)
