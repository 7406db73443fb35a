"""Values of nodes: tables keyed by id, and arrays with a row for each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hgcn.data.graph import Graph
from hgcn.data.pairs import Ints
from hgcn.data.reading.arrays import ARRAY_ENDINGS, load_array
from hgcn.data.reading.dataframes import is_dataframe, open_dataframe
from hgcn.data.reading.edges import Edges
from hgcn.data.reading.ids import factorise, first_repeat, positions, same_kind, tidy
from hgcn.data.reading.tables import TABLE_ENDINGS, Frame, Table, is_table, read_table
from hgcn.errors import DataError
from hgcn.text import count, near_miss, one_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Keyed:
    """Some columns of a table whose first column is the id of a node."""

    frame: Frame
    ids: pl.Series
    columns: tuple[str, ...]

    def without(self, *others: Keyed | RowValues | None) -> Keyed:
        """This table without the columns that the others use."""
        used = {
            name
            for other in others
            if isinstance(other, Keyed) and other.frame is self.frame
            for name in other.columns
        }
        return replace(self, columns=tuple(name for name in self.columns if name not in used))

    def pick(self, names: Sequence[str], what: str, hint: str = "") -> Keyed:
        """This table with some columns only; one that it has not is an error with a near miss."""
        for name in names:
            if name not in self.columns:
                raise DataError(one_of(what, name, self.columns) + f" ({self.frame.path}){hint}")
        return replace(self, columns=tuple(names))


@dataclass(frozen=True)
class RowValues:
    """An array with a row for each node, and the name of its source for errors."""

    value: Any
    path: str

    def __len__(self) -> int:
        shape = getattr(self.value, "shape", None)
        return int(shape[0]) if shape else len(self.value)


def keyed(frame: Frame) -> Keyed:
    """A table with an id for each row, each of them once."""
    first, *others = frame.data.columns
    ids = tidy(frame.data.get_column(first), frame.location)
    again = first_repeat(ids)
    if again is not None:
        before = int((ids == ids[again]).arg_max() or 0)
        raise DataError(
            f"Expected each id once in the column {first!r}, got {ids[again]} again "
            f"({frame.location(again)}); it is first at {frame.location(before)}."
        )
    return Keyed(frame, ids, tuple(others))


def open_table(table: Any, name: str) -> Keyed:
    """A table of nodes from a file or a DataFrame; ``name`` is that of a DataFrame, for errors."""
    if isinstance(table, Keyed):
        return table
    if is_dataframe(table):
        return keyed(open_dataframe(table, name))
    table = table if isinstance(table, Table) else Table(table)
    return keyed(read_table(table, lambda top: True))


def graph_table(graph: Graph) -> Keyed:
    """The ids and columns of a graph as a table of nodes."""
    import polars as pl

    def series(values: np.ndarray) -> pl.Series:
        return pl.Series(values.tolist() if values.dtype.kind in "UTO" else values)

    names = {name: series(values) for name, values in graph.columns.items() if name != "id"}
    data = pl.DataFrame({"id": series(graph.ids), **names})
    frame = Frame(data, "the graph", lambda row: f"node {graph.ids[row]}")
    return Keyed(frame, data["id"], tuple(names))


def open_values(value: Any, nodes: Keyed | None, what: str) -> Keyed | RowValues | None:
    """The values that ``features``, ``labels`` or ``graph_ids`` name: columns, a file, an array."""
    if value is None or isinstance(value, Keyed | RowValues):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return _columns(value, nodes, what)
    if isinstance(value, str) and nodes is not None and value in nodes.columns:
        return _columns([value], nodes, what)
    if is_dataframe(value):
        return open_table(value, f"`{what}`")
    if isinstance(value, str | Path | Table):
        return _open_file(value, nodes, what)
    return RowValues(value, f"`{what}`")


def _open_file(value: str | Path | Table, nodes: Keyed | None, what: str) -> Keyed | RowValues:
    if isinstance(value, Table) or is_table(Path(value)):
        return open_table(value, f"`{what}`")
    if Path(value).suffix.lower() in ARRAY_ENDINGS:
        return RowValues(load_array(Path(value)), str(value))
    endings = ", ".join((*ARRAY_ENDINGS, *TABLE_ENDINGS))
    known = () if nodes is None else nodes.columns
    raise DataError(
        f"Expected `{what}` to be an array, a file ending in {endings}, or a column of the table "
        f"of nodes ({', '.join(known) or 'none is given'}), got {str(value)!r}."
        + near_miss(value, known)
    )


def _columns(names: Sequence[str], nodes: Keyed | None, what: str) -> Keyed:
    if nodes is None:
        raise DataError(
            f"Expected a table of nodes (nodes=) with the columns named as `{what}`, got none."
        )
    return nodes.pick(names, what)


def number_nodes(
    edges: Edges, num_nodes: int | None, tables: Sequence[Keyed], rows: Sequence[RowValues]
) -> tuple[pl.Series, Ints]:
    """The ids of all nodes, in order, and the node at each end of the edges.

    Nodes of tables come first, in the order of the tables, then those that only edges name, sorted.
    Arrays know no ids: their rows are the rows of the table, or the nodes 0, 1, ...
    """
    import polars as pl

    total = _rows(rows)
    if num_nodes is not None:
        ids = tables[0].ids if tables else pl.Series(range(num_nodes), dtype=pl.Int64)
        if len(ids) < num_nodes:
            raise DataError(
                f"Expected a row for each of {count(num_nodes, 'node')}, got {len(ids)} "
                f"({tables[0].frame.path})."
            )
        _check_total(total, len(ids), rows, "the graph has")
        return ids, _as_rows(edges, len(ids), f"the nodes of {edges.path}")
    if total is not None and not tables:
        numbers = _as_rows(edges, total, f"the rows of {rows[0].path}")
        return pl.Series(range(total), dtype=pl.Int64), numbers
    if not len(edges.ids) and not tables:
        raise DataError(
            f"Expected edges, got none ({edges.path}). Without edges, give a table of nodes."
        )
    if edges.numbered and not tables:
        return pl.Series(range(1 + int(edges.ids.max())), dtype=pl.Int64), edges.ids.to_numpy()  # type: ignore[arg-type]
    distinct, codes = factorise(edges.ids) if len(edges.ids) else (edges.ids, edges.ids.to_numpy())
    if not tables:
        return distinct, codes
    *known, distinct = same_kind(*(table.ids for table in tables), distinct)
    ids = pl.concat([series.alias("id") for series in (*known, distinct)]).unique(
        maintain_order=True
    )
    if rows:
        _check_order(tables[0], ids, edges)
        _check_total(total, len(ids), rows, f"{tables[0].frame.path} has")
    return ids, positions(distinct, ids)[codes]


def _rows(rows: Sequence[RowValues]) -> int | None:
    for other in rows[1:]:
        if len(other) != len(rows[0]):
            raise DataError(
                f"Expected one row for each node everywhere, got {len(rows[0])} in "
                f"{rows[0].path} and {len(other)} in {other.path}."
            )
    return len(rows[0]) if rows else None


def _check_total(total: int | None, expected: int, rows: Sequence[RowValues], who: str) -> None:
    if total is not None and total != expected:
        raise DataError(
            f"Expected a row for each node, and {who} {count(expected, 'node')}, got {total} "
            f"({rows[0].path})."
        )


def _as_rows(edges: Edges, total: int, what: str) -> Ints:
    """Ids that are numbers of nodes, such as the rows of an array, checked."""
    import polars as pl

    expected = f"Expected ids in 0..{total - 1}, {what}"
    if edges.ids.dtype != pl.Int64:
        numbers = edges.ids.cast(pl.Int64, strict=False)
        at = numbers.is_null().arg_max() or 0
        raise DataError(
            f"{expected}, got {edges.ids[at]!r} ({edges.location_of_end(at)}). "
            "Give a table whose rows are in the same order: nodes=."
        )
    ids = edges.ids.to_numpy()
    if len(ids) and ids.max() >= total:
        at = int((ids >= total).argmax())
        hint = " Are the ids 1-based?" if ids.min() == 1 and ids.max() == total else ""
        raise DataError(f"{expected}, got {ids[at]} ({edges.location_of_end(at)}).{hint}")
    return ids


def _check_order(table: Keyed, ids: pl.Series, edges: Edges) -> None:
    """Refuse arrays next to a table if it is unclear which row belongs to which id."""
    if len(ids) > len(table.ids):
        missing_ids(ids.slice(len(table.ids)), table.frame.path, "a row", edges)
    numbers = table.ids.to_numpy()
    if numbers.dtype == np.int64 and np.array_equal(np.sort(numbers), np.arange(len(numbers))):
        wrong = numbers != np.arange(len(numbers))
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"Expected the ids 0..{len(numbers) - 1} in order next to an array, got "
                f"{numbers[row]} ({table.frame.location(row)}). Sort the table by id."
            )


def missing_ids(missing: pl.Series, path: str, what: str, edges: Edges | None) -> None:
    """Refuse nodes without a value, and give the location of the first one in the edges."""
    import polars as pl

    named = ", ".join(str(value) for value in missing.head(3))
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    where = ""
    if edges is not None and len(edges.ids):
        ends = (edges.ids.cast(pl.String) == str(missing[0])).arg_max() or 0
        if str(edges.ids[ends]) == str(missing[0]):
            where = f" ({edges.location_of_end(ends)})"
    raise DataError(
        f"Expected {what} for each node in {path}, got none for {named}{more}{where}. "
        "Add them there, or remove their edges. Are ids written the same way in both?"
    )


def aligned(values: Keyed, ids: pl.Series, what: str) -> Ints:
    """The row of each node in a table, -1 if it has none; rows of unknown nodes are refused."""
    stray = positions(values.ids, ids) < 0
    if stray.any():
        row = int(stray.argmax())
        raise DataError(
            f"Expected {what} of nodes of the graph, got the unknown id {values.ids[row]} "
            f"({values.frame.location(row)}); {count(int(stray.sum()), 'such row')}. "
            "Are ids written the same way in both files?"
        )
    return positions(ids, values.ids)
