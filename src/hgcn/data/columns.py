"""Columns of a table: what each holds, and how it becomes features."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hgcn.data.table import FeatureTable
from hgcn.errors import DataError
from hgcn.text import count

if TYPE_CHECKING:
    import polars as pl

Location = Callable[[int], str]
Doubles = NDArray[np.float64]

MAX_CATEGORIES = 256
WORDS = 1024
"""Number of features that the words of a text column are hashed into."""
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
PARTS = ("year", "month", "day", "weekday", "hour")


class Column(Protocol):
    """How one column becomes features.

    Attributes:
        kind: what such a column holds; the name of the class in storage.
        gap: what becomes of a missing value, for notes.
        name: the name of the column.
    """

    kind: ClassVar[str]
    gap: ClassVar[str]
    name: str

    @classmethod
    def fit(cls, column: pl.Series, table: FeatureTable, location: Location) -> Self:
        """Learn from a column."""

    def titles(self) -> list[str]:
        """The names of the features."""

    def encode(self, column: pl.Series, location: Location) -> Any:
        """The features, a row for each value: an array or a sparse matrix."""

    def strange(self, column: pl.Series) -> Iterator[str]:
        """Sentences on values that nothing was learnt about, and what becomes of them."""


@dataclass(frozen=True)
class Number:
    """Numbers as they are; a missing one is the mean, marked where missing ones were seen."""

    kind: ClassVar[str] = "number"
    gap: ClassVar[str] = "the mean, marked in an own column"
    name: str
    mean: float
    marked: bool

    @classmethod
    def fit(cls, column: pl.Series, table: FeatureTable, location: Location) -> Self:
        """Learn the mean, and whether values are missing."""
        values = cls.read(column, location)
        there = values[~np.isnan(values)]
        mean = float(there.mean()) if len(there) else 0.0
        return cls(column.name, mean, len(there) < len(values))

    @staticmethod
    def read(column: pl.Series, location: Location) -> Doubles:
        """The column as numbers, with NaN for what is missing."""
        return _numbers(column, location)

    def titles(self) -> list[str]:
        """The column, and perhaps the mark of missing values."""
        return [self.name, *[f"{self.name} missing"] * self.marked]

    def encode(self, column: pl.Series, location: Location) -> Doubles:
        """The numbers and the mark."""
        values = self.read(column, location)
        missing = np.isnan(values)
        filled = np.where(missing, self.mean, values)
        return np.stack((filled, missing), axis=1) if self.marked else filled[:, None]

    def strange(self, column: pl.Series) -> Iterator[str]:
        """Missing values, if none were missing before."""
        yield from _strange_gaps(self.name, column, self.marked, "the mean")


@dataclass(frozen=True)
class Date(Number):
    """Days since 1970 and, on request, parts of the date; a missing date is the mean."""

    kind: ClassVar[str] = "date"
    parts: bool = False

    @classmethod
    def fit(cls, column: pl.Series, table: FeatureTable, location: Location) -> Self:
        """Learn the mean, and whether values are missing."""
        return replace(super().fit(column, table, location), parts=table.date_parts)

    @staticmethod
    def read(column: pl.Series, location: Location) -> Doubles:
        """The column as days, with NaN for what is missing."""
        return _days(column, location)

    def titles(self) -> list[str]:
        """The column, the mark of missing values, and the parts."""
        return super().titles() + [f"{self.name} {part}" for part in PARTS] * self.parts

    def encode(self, column: pl.Series, location: Location) -> Doubles:
        """The days, the mark and the parts."""
        block = super().encode(column, location)
        if not self.parts:
            return block
        moments = [EPOCH + timedelta(days=day) for day in block[:, 0].tolist()]
        parts = [[m.year, m.month, m.day, m.isoweekday(), m.hour] for m in moments]
        return np.concatenate((block, np.array(parts, float).reshape(-1, len(PARTS))), axis=1)


@dataclass(frozen=True)
class Category:
    """A feature for each category; others, and what is missing unless it was seen, have none."""

    kind: ClassVar[str] = "category"
    gap: ClassVar[str] = "an own category"
    name: str
    categories: tuple[str, ...]
    marked: bool

    @classmethod
    def fit(cls, column: pl.Series, table: FeatureTable, location: Location) -> Category:
        """Learn the categories, and whether values are missing."""
        words = _words(column)
        kinds = words.drop_nulls().unique().sort().to_list()
        if len(kinds) > MAX_CATEGORIES:
            raise DataError(
                f"Expected at most {MAX_CATEGORIES} categories in the column {column.name!r}, got "
                f"{len(kinds):,}, such as {kinds[0]!r} ({table.path}). Leave it out (`drop`), use "
                "its words (`text`), or name the columns to use (`feature_columns`)."
            )
        return cls(column.name, tuple(kinds), bool(words.null_count()))

    def titles(self) -> list[str]:
        """The categories, and perhaps the one of missing values."""
        return [f"{self.name} = {kind}" for kind in self.categories] + (
            [f"{self.name} missing"] * self.marked
        )

    def encode(self, column: pl.Series, location: Location) -> Doubles:
        """One-hot rows; rows of zeros where nothing was learnt."""
        codes = codes_of(_words(column), self.categories)
        width = len(self.categories)
        if self.marked:
            codes[column.is_null().to_numpy()] = width
        block = np.zeros((len(codes), width + self.marked))
        known = np.flatnonzero(codes >= 0)
        block[known, codes[known]] = 1.0
        return block

    def strange(self, column: pl.Series) -> Iterator[str]:
        """Categories that were not seen before."""
        words = _words(column)
        new = (codes_of(words, self.categories) < 0) & words.is_not_null().to_numpy()
        if new.any():
            example = words[int(new.argmax())]
            yield (
                f"{count(int(new.sum()), 'value')} of {self.name!r} not seen in training, such as "
                f"{example!r}: none of its categories."
            )
        yield from _strange_gaps(self.name, column, self.marked, "none of its categories")


@dataclass(frozen=True)
class Words:
    """Words, hashed into a fixed number of features; nothing is learnt."""

    kind: ClassVar[str] = "text"
    gap: ClassVar[str] = "texts without words"
    name: str

    @classmethod
    def fit(cls, column: pl.Series, table: FeatureTable, location: Location) -> Words:
        """Take the name."""
        return cls(column.name)

    def titles(self) -> list[str]:
        """Numbered hashes."""
        return [f"{self.name}: words {at}" for at in range(WORDS)]

    def encode(self, column: pl.Series, location: Location) -> Any:
        """Counts of hashed words, each row of length one."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(n_features=WORDS, alternate_sign=False, dtype=np.float32)
        return hashing.transform(_words(column).fill_null("").to_list())

    def strange(self, column: pl.Series) -> Iterator[str]:
        """Nothing: every word has a hash."""
        yield from ()


KINDS: dict[str, type[Any]] = {kind.kind: kind for kind in (Number, Date, Category, Words)}
EPOCH = datetime(1970, 1, 1)


def kind_of(column: pl.Series, location: Location) -> str:
    """What a column holds: "number", "date" or "category"; refused where it is a mixture."""
    import polars as pl

    given = len(column) - column.null_count()
    if not given:
        raise DataError(
            f"Expected values in the column {column.name!r}, got none ({location(0)}). Leave it "
            "out."
        )
    if column.dtype != pl.String:
        return "number"
    words = column.cast(pl.Float64, strict=False).is_null() & column.is_not_null()
    if words.sum() * 2 <= given:
        return "number"  # if some are words, reading them as numbers names the first
    dates = column.str.contains(f"^{DATE.pattern}$").fill_null(False)
    return "date" if dates.sum() * 2 > given else "category"


def codes_of(column: pl.Series, kinds: Any) -> NDArray[np.int64]:
    """The position of each value among the distinct ones; -1 for missing and for others."""
    import polars as pl

    if not len(kinds):
        return np.full(len(column), -1)
    kinds = pl.Series(kinds, dtype=column.dtype)
    at = pl.Series(range(len(kinds)), dtype=pl.Int64)
    found = column.replace_strict(kinds, at, default=-1, return_dtype=pl.Int64)
    return found.fill_null(-1).to_numpy(writable=True)


def _numbers(column: pl.Series, location: Location) -> Doubles:
    """The column as numbers, with NaN for what is missing."""
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    words = numbers.is_null() & column.is_not_null()
    _refuse(column, words.to_numpy(), location, "numbers")
    values = numbers.fill_null(float("nan")).to_numpy()
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(np.float32))
    _refuse(column, infinite, location, "finite numbers")
    return values


def _days(column: pl.Series, location: Location) -> Doubles:
    """Days since 1970, with NaN for what is missing."""
    known: dict[str | None, float] = {None: float("nan")}
    values = _words(column).to_list()
    for value in set(values) - {None}:
        known[value] = _day(value)
    days = np.array([known[value] for value in values], float)
    _refuse(column, np.isnan(days) & column.is_not_null().to_numpy(), location, "dates")
    return days


def _day(text: str) -> float:
    if DATE.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:  # such as the 31st of June
            return float("nan")
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - EPOCH) / timedelta(days=1)
    return float("nan")


def _words(column: pl.Series) -> pl.Series:
    """The column as text; whole numbers without a point, however they are stored."""
    import polars as pl

    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if (whole.cast(column.dtype) == column).fill_null(True).all():
            column = whole
    return column.cast(pl.String)


def _refuse(column: pl.Series, wrong: NDArray[np.bool_], location: Location, what: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"Expected {what} in the column {column.name!r}, got {column[row]!r} "
            f"({location(row)}). Leave the cell empty if the value is missing."
        )


def _strange_gaps(name: str, column: pl.Series, marked: bool, instead: str) -> Iterator[str]:
    if not marked and column.null_count():
        missing = count(column.null_count(), "value")
        yield f"{missing} of {name!r} missing, as none was in training: {instead}."
