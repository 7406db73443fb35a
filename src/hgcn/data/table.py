"""Features as they stand in a table, before they are turned into numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


class StoredColumns(ABC):
    """Columns that are not in memory.

    Attributes:
        height: the number of rows.
        columns: the names of the columns.
    """

    height: int
    columns: list[str]

    @abstractmethod
    def rows(self, at: np.ndarray | slice | None) -> pl.DataFrame:
        """Some rows, or all, brought to memory."""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The columns that features are made of, with a row for each node of a graph.

    How a column becomes numbers, which mean fills a gap, which categories there are: that is learnt
    from the training nodes of a run, and then holds for every other graph
    (:class:`hgcn.data.encoding.Encoding`). So a graph keeps the columns themselves.

    Args:
        source: the columns, with null for what is missing; or columns on the disk.
        path: name of the source, for errors.
        text: names of columns whose words are hashed.
        date_parts: whether dates become year, month, day, weekday and hour too.
        label: the column of the same table that classes were read from, if they were.
    """

    source: pl.DataFrame | StoredColumns
    path: str
    text: tuple[str, ...] = ()
    date_parts: bool = False
    label: str | None = None

    def __len__(self) -> int:
        return self.source.height

    @property
    def data(self) -> pl.DataFrame:
        """All columns, in memory."""
        return self.source.rows(None) if isinstance(self.source, StoredColumns) else self.source

    def rows(self, at: np.ndarray | slice) -> FeatureTable:
        """Some rows, in the order given; of columns on the disk no others are read."""
        stored = self.source
        return replace(
            self, source=stored.rows(at) if isinstance(stored, StoredColumns) else stored[at]
        )

    def content(self, block: int) -> Iterator[bytes]:
        """The table as text, some rows at a time: equal for equal tables, wherever they are."""
        for start in range(0, max(len(self), 1), block):
            rows = self.rows(slice(start, start + block)).data
            yield rows.write_csv(include_header=start == 0).encode()
        yield f"\0{(*sorted(self.text), self.date_parts, self.label)}\0".encode()


def stack_tables(tables: list[FeatureTable]) -> FeatureTable:
    """Tables with the same columns, one below the other."""
    import polars as pl

    first = tables[0]
    names = first.data.columns
    data = [table.data.select(names) for table in tables]
    for name in names:  # a column may hold numbers in one table and words in another
        if len({frame.schema[name] for frame in data}) > 1:
            data = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in data]
    return replace(first, source=pl.concat(data))
