"""Features as they stand in a table, before they are turned into numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The columns that features are made of, with a row for each node of a graph.

    How a column becomes numbers, which mean fills a gap, which categories there are: that is learnt
    from the training nodes of a run, and then holds for every other graph
    (:class:`hgcn.data.encoding.Encoding`). So a graph keeps the columns themselves.

    Args:
        data: the columns, with null for what is missing.
        path: name of the source, for errors.
        text: names of columns whose words are hashed.
        date_parts: whether dates become year, month, day, weekday and hour too.
        label: the column of the same table that classes were read from, if they were.
    """

    data: pl.DataFrame
    path: str
    text: tuple[str, ...] = ()
    date_parts: bool = False
    label: str | None = None

    def __len__(self) -> int:
        return self.data.height

    def rows(self, at: np.ndarray) -> FeatureTable:
        """Some rows, in the order given."""
        return replace(self, data=self.data[at])

    def content(self) -> str:
        """The table as text: equal for equal tables, wherever they were read from."""
        choices = (*sorted(self.text), self.date_parts, self.label)
        return f"{self.data.write_csv()}\0{choices}"


def stack_tables(tables: list[FeatureTable]) -> FeatureTable:
    """Tables with the same columns, one below the other."""
    import polars as pl

    first = tables[0]
    names = first.data.columns
    data = [table.data.select(names) for table in tables]
    for name in names:  # a column may hold numbers in one table and words in another
        if len({frame.schema[name] for frame in data}) > 1:
            data = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in data]
    return replace(first, data=pl.concat(data))
