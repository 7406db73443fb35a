"""The encoding of a table: how its columns become features, learnt once and then kept.

Scikit-learn's terms apply: an encoding is fitted on some rows and transforms any others, of the
same graph or of another one, always in the same way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.data.columns import KINDS, Column, Location, Number, Words, kind_of
from hgcn.data.sparse import as_features
from hgcn.data.table import FeatureTable
from hgcn.errors import DataError
from hgcn.text import near_miss


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become features.

    Attributes:
        columns: the columns, in the order of their features.
        label: the column that classes were read from, where the table had it.
    """

    columns: tuple[Column, ...]
    label: str | None = None

    @classmethod
    def fit(
        cls, table: FeatureTable, rows: Tensor | None = None, location: Location | None = None
    ) -> Encoding:
        """Learn from some rows of a table, or from all.

        What a column holds, numbers, dates, categories or text, is seen from all of its rows.

        Args:
            table: the table.
            rows: numbers of the rows to learn from.
            location: a function from a row to its location, for errors.
        """
        location = location or _row_of(table)
        columns: list[Column] = []
        for name in table.data.columns:
            column = table.data.get_column(name)
            kind = KINDS["text" if name in table.text else kind_of(column, location)]
            seen = column if rows is None else column.gather(rows.numpy())
            columns.append(kind.fit(seen, table, location))
        return cls(tuple(columns), table.label)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(title for column in self.columns for title in column.titles())

    def __call__(self, table: FeatureTable, location: Location | None = None) -> Tensor:
        """The features of a table, by the names of its columns; sparse if there are words.

        Scaling does not centre sparse features, so numbers among them are centred here.
        """
        location = location or _row_of(table)
        self.check(table)
        sparse = any(isinstance(column, Words) for column in self.columns)
        blocks = []
        for column in self.columns:
            block = column.encode(table.data.get_column(column.name), location)
            if sparse and isinstance(column, Number):
                block[:, 0] -= column.mean
            blocks.append(block)
        if not sparse:
            return torch.from_numpy(np.concatenate(blocks, axis=1).astype(np.float32))
        from scipy.sparse import csr_array, hstack

        return as_features(hstack([csr_array(block) for block in blocks], format="csr"))

    def check(self, table: FeatureTable) -> None:
        """Refuse a table that lacks a column."""
        known = table.data.columns
        lacking = [column.name for column in self.columns if column.name not in known]
        if lacking:
            raise DataError(
                f"Expected the columns {', '.join(map(repr, lacking))}, as in training, got "
                f"{', '.join(map(repr, known)) or 'none'} ({table.path})."
                f"{near_miss(lacking[0], known)}"
            )

    def strange(self, table: FeatureTable) -> list[str]:
        """Sentences on values that nothing was learnt about, and what becomes of them."""
        return [
            sentence
            for column in self.columns
            for sentence in column.strange(table.data.get_column(column.name))
        ]

    def to_tree(self) -> dict[str, Any]:
        """The encoding as lists, numbers and strings, for storage."""
        return {
            "label": self.label,
            "columns": [{"kind": c.kind, **asdict(c)} for c in self.columns],  # type: ignore[call-overload]
        }

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> Encoding:
        """The inverse of :meth:`to_tree`."""
        columns = []
        for stored in tree["columns"]:
            kind, *values = stored.items()
            lists = {k: tuple(v) if isinstance(v, list) else v for k, v in values}
            columns.append(KINDS[kind[1]](**lists))
        return cls(tuple(columns), tree["label"])


def _row_of(table: FeatureTable) -> Location:
    return lambda row: f"{table.path}, row {row + 1}"
