"""Edges from tables, NetworkX graphs, sparse matrices and arrays, in one shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hgcn.data.clean import Floats
from hgcn.data.reading.ids import NO_ID, same_numbers, tidy
from hgcn.data.reading.tables import Frame, Table, check_types, read_table
from hgcn.errors import DataError

if TYPE_CHECKING:
    import polars as pl

SOURCES = ("source", "src", "from", "u", "head", "node1", "id1", "node_1", "id_1", "start", "child")
TARGETS = ("target", "dst", "to", "v", "tail", "node2", "id2", "node_2", "id_2", "end", "parent")
WEIGHT = "weight"


@dataclass(frozen=True)
class Edges:
    """An edge list as it was read.

    Attributes:
        ids: the ids of both ends: the sources of all edges, then the targets.
        weight: the weight of each edge, where there are weights.
        path: name of the source, for errors.
        location: a function from a row to its location in the source, for errors.
        directed: whether direction means something; None if the source does not tell.
        notes: remarks on reading, a sentence each.
        numbered: whether ids are numbers of nodes, so that nodes without an edge exist as well.
    """

    ids: pl.Series
    weight: Floats | None
    path: str
    location: Callable[[int], str]
    directed: bool | None = None
    notes: tuple[str, ...] = ()
    numbered: bool = False

    def location_of_end(self, position: int) -> str:
        """The location in the source of the id at a position of ``ids``."""
        return self.location(position % (len(self.ids) // 2))


def edges_from_table(table: Table) -> Edges:
    """The edges of a table in a file, one in each row."""
    return edges_from_frame(read_table(table, is_edge_header, plain=False), table)


def edges_from_frame(frame: Frame, table: Table) -> Edges:
    """The edges of a table that was read; ``table`` says how."""
    source, target, weight, notes = edge_columns(frame, table)
    _check_first_row(frame, source, target)
    check_types(frame, [name for name in (source, target, weight) if name is not None])
    return make_edges(
        frame.data.get_column(source),
        frame.data.get_column(target),
        None if weight is None else frame.data.get_column(weight),
        frame.path,
        frame.location,
        notes=notes,
    )


def edge_columns(frame: Frame, table: Table) -> tuple[str, str, str | None, tuple[str, ...]]:
    """The columns with source, target and weight of edges, and notes on how they were chosen."""
    source, target, weight = _roles(frame, table)
    used = [name for name in (source, target, weight) if name is not None]
    notes = []
    if frame.header and table.header is None and table.columns is None:
        notes += _note_on_header(source, target)
    if not frame.header and table.columns is None and weight is not None:
        notes.append("The third column of the edges was read as their weight.")
    unused = [name for name in frame.data.columns if name not in used]
    if unused:
        notes.append(f"Columns of the edges that were not used: {', '.join(unused)}.")
    return source, target, weight, tuple(notes)


def make_edges(
    source: pl.Series,
    target: pl.Series,
    weight: pl.Series | None,
    path: str,
    location: Callable[[int], str],
    *,
    directed: bool | None = None,
    notes: tuple[str, ...] = (),
) -> Edges:
    """Edges with checked ids and weights."""
    import polars as pl

    rows = len(source)
    source, target = same_numbers(source, target)
    if source.dtype != target.dtype:
        source, target = source.cast(pl.String), target.cast(pl.String)
    both = pl.concat([source.alias("id"), target.alias("id")])
    ids = tidy(both, lambda at: location(at % rows))
    if ids.dtype == pl.Int64 and len(ids) and ids.min() < 0:  # type: ignore[operator]
        at = (ids < 0).arg_max() or 0
        refuse_negative(int(ids[at]), location(at % rows))
    values = None if weight is None else read_weights(weight, location)
    return Edges(ids, values, path, location, directed, notes)


def refuse_negative(number: int, where: str) -> NoReturn:
    """Raise the error for an id below zero."""
    raise DataError(
        f"Expected ids of nodes, got the negative number {number} ({where}). "
        "Remove these rows if it stands for nothing, or use names such as 'n-1'."
    )


def read_weights(weight: pl.Series, location: Callable[[int], str]) -> Floats:
    """Weights as numbers, each above zero."""
    import polars as pl

    numbers = weight.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    # Beyond the range of float32 a weight would turn into 0 or infinity.
    with np.errstate(over="ignore"):
        small = numbers.astype(np.float32)
    wrong = ~((small > 0) & np.isfinite(small))
    if wrong.any():
        row = int(wrong.argmax())
        got = "nothing" if weight[row] in (None, "") else weight[row]
        raise DataError(
            f"Expected a weight above zero and not infinite, got {got} ({location(row)}). "
            "Remove edges that have none."
        )
    return numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_edge_header(top: list[list[str]]) -> bool | None:
    """Whether the first of two records names the columns of edges; None if it may."""
    first = [name.strip().lower() for name in top[0]]
    if any(a in first and b in first for a, b in zip(SOURCES, TARGETS, strict=True)):
        return True
    if all(_is_number(field) for field in first[:2]):
        return False
    if len(top) == 1 or any(_is_number(name) or name in NO_ID for name in first):
        return None
    # Words above numbers name them, be these ids or weights.
    numeric = [_is_number(field) for field in top[1]]
    return True if all(numeric[:2]) or any(numeric[2:]) else None


def _roles(frame: Frame, table: Table) -> tuple[str, str, str | None]:
    names = frame.data.columns
    if len(names) < 2:
        raise DataError(f"Expected two columns or more, got {len(names)} ({frame.path}).")
    if table.columns is not None:
        if len(names) > 3:
            raise DataError(
                "Expected `columns` of edges to be source, target and perhaps weight, got "
                f"{', '.join(names)} ({frame.path})."
            )
        return names[0], names[1], names[2] if len(names) == 3 else None
    if not frame.header:
        return names[0], names[1], names[2] if len(names) == 3 else None
    by_lower = {name.lower(): name for name in names}
    weight = by_lower.get(WEIGHT)
    for a, b in zip(SOURCES, TARGETS, strict=True):
        if a in by_lower and b in by_lower:
            return by_lower[a], by_lower[b], weight
    ends = [name for name in names if name != weight]
    return ends[0], ends[1], weight


def _note_on_header(source: str, target: str) -> list[str]:
    known = (source.lower(), target.lower()) in zip(SOURCES, TARGETS, strict=True)
    return (
        [] if known else [f"The first line of the edges was read as a header: {source}, {target}."]
    )


def _check_first_row(frame: Frame, source: str, target: str) -> None:
    """Refuse to guess where the first line may be an edge or a header."""
    if frame.header is not None:
        return
    first = [frame.data.get_column(name)[0] for name in (source, target)]
    if None in first:
        return  # an end that is missing, which is reported as such
    others = frame.data.slice(1)
    if any(others.get_column(name).is_in(first).any() for name in (source, target)):
        return  # a name of a column would hardly be a node as well
    refuse_first_row(frame, first)


def refuse_first_row(frame: Frame, first: list[str]) -> NoReturn:
    """Raise the error for a first line that may be an edge or a header."""
    raise DataError(
        f"Expected to see whether the first line is a header, got {', '.join(first)}, which occurs "
        f"nowhere else ({frame.location(0)}). Say it: Table(path, header=True) or header=False."
    )


def edges_from_arrays(source: Any, target: Any, weight: Any = None) -> Edges:
    """Edges from arrays of ids (numbers or text) and perhaps of weights."""
    first, second = _column("source", source), _column("target", target)
    third = None if weight is None else _column("weight", weight)
    lengths = [len(column) for column in (first, second, third) if column is not None]
    if len(set(lengths)) > 1:
        raise DataError(f"Expected arrays of one length, got {lengths}.")
    return make_edges(first, second, third, "the arrays", lambda row: f"position {row}")


def _column(name: str, values: Any) -> pl.Series:
    import polars as pl

    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat):
        array = array.astype(np.str_)
    if array.ndim != 1 or array.dtype.kind not in "iufUT":
        raise DataError(
            f"Expected the {name} array to be one row of numbers or of text, got {array.dtype} of "
            f"shape {list(array.shape)}."
        )
    return pl.Series(name, array.tolist() if array.dtype.kind in "UT" else array)


def edges_from_matrix(matrix: Any) -> tuple[Edges, int]:
    """The entries of a SciPy sparse adjacency matrix, and its number of nodes."""
    import polars as pl

    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"Expected a square adjacency matrix, got shape {list(matrix.shape)}.")
    entries = matrix.tocoo()
    entries.sum_duplicates()
    entries.eliminate_zeros()
    weight = None if (entries.data == 1).all() else pl.Series(entries.data)
    row, column = (pl.Series(ends.astype(np.int64)) for ends in (entries.row, entries.col))

    def location(at: int) -> str:
        return f"entry ({row[at]}, {column[at]}) of the matrix"

    return make_edges(row, column, weight, "the matrix", location), matrix.shape[0]
