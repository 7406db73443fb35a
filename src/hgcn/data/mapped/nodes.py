"""Values of nodes, written as arrays: features, classes and further columns of tables on the disk.

A table is read a column at a time, and features are made of some rows at a time, so memory is
needed for one column and for the ids. The rules are those of :mod:`hgcn.data.reading.assemble`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hgcn.data.encoding import Encoding
from hgcn.data.mapped.arrays import ArrayFile, Growing, forget, open_array, pieces, write_array
from hgcn.data.mapped.blocks import open_blocks
from hgcn.data.mapped.columns import MappedColumns, write_column
from hgcn.data.mapped.journal import Journal
from hgcn.data.mapped.save import about_table, write_features
from hgcn.data.neighbours import short
from hgcn.data.pairs import Ints
from hgcn.data.reading.arrays import load_array
from hgcn.data.reading.assemble import (
    Given,
    NodeValues,
    classes_of,
    feature_rows,
    notes_on_gaps,
    split_column,
)
from hgcn.data.reading.edges import Edges
from hgcn.data.reading.encode import clean_text, plain_column, without_text
from hgcn.data.reading.nodes import Keyed, RowValues, aligned, keyed
from hgcn.data.reading.own_split import split_fields
from hgcn.data.reading.tables import Frame, Table, check_type, check_types, is_table
from hgcn.data.sparse import as_features
from hgcn.data.table import FeatureTable
from hgcn.text import count

if TYPE_CHECKING:
    import polars as pl

ROWS = 1 << 17
"""Rows that become features at a time."""


def open_given(given: Given, journal: Journal) -> Given:
    """What is said of nodes, with tables and arrays in files opened where they are."""
    known: set[str] = set()
    for what in ("nodes", "features", "labels", "graph_ids"):
        value = getattr(given, what)
        if isinstance(value, Table) or (
            isinstance(value, str | Path) and str(value) not in known and is_table(Path(value))
        ):
            table = value if isinstance(value, Table) else Table(value)
            value = keyed(_plain(open_blocks(table, lambda top: True, journal, what)))
            known |= set(value.columns) if what in ("nodes", "features") else set()
        elif isinstance(value, str | Path) and Path(value).suffix.lower() == ".npy":
            value = RowValues(load_array(Path(value), mapped=True), str(value))
        given = replace(given, **{what: value})
    return given


def _plain(frame: Frame) -> Frame:
    """A table on the disk, of whose columns none is refused."""
    import polars as pl

    schema = frame.data.schema
    for name, dtype in schema.items():
        check_type(name, dtype, frame.path)
    check_types(frame, [name for name, dtype in schema.items() if dtype == pl.String])
    return frame


@dataclass(frozen=True)
class NodeWriter:
    """Writes what is known of nodes.

    Args:
        journal: the work that this is a part of.
        folder: where the arrays go.
        ids: the ids of all nodes, in order.
        edges: the edges, for the location of an id in an error.
    """

    journal: Journal
    folder: Path
    ids: pl.Series
    edges: Edges

    def fields(self, values: NodeValues, given: Given) -> dict[str, Any]:
        """The fields of a graph that tell of its nodes; None for columns that are written."""
        notes: list[str] = []
        found: dict[str, Any] = {}
        features, labels, groups = values.features, values.labels, values.groups
        columns: dict[str, Any] = {}
        if values.table is not None:
            used = split_column(given, values.table)
            columns = self._columns(values.table.without(features, labels, groups, *used))
        if isinstance(features, Keyed):
            label = None
            if isinstance(labels, Keyed):
                label = labels.columns[0] if labels.frame is features.frame else None
            found, notes = self._encoded(features, given, label)
        elif features is not None:
            found = {"num_features": self._rows(features)}
        if labels is not None:
            found["y"], found["class_names"], missing = classes_of(labels, self.ids, "labels")
            notes += [f"Labels: {count(missing, 'node')} without one."] * bool(missing)
        if groups is not None:
            found["graph_ids"], names, missing = classes_of(groups, self.ids, "graph ids")
            columns["graph"] = np.array(names)[found["graph_ids"].numpy()]
        if given.split is not None:
            found |= split_fields(given.split, values.table, self.ids)
        return found | {"columns": columns, "notes": tuple(notes)}

    def write_ids(self) -> None:
        """Write the ids, unless they are 0, 1, ..."""
        import polars as pl

        ids, path = self.ids, self.folder / "ids.npy"
        if ids.dtype == pl.Int64:
            if not np.array_equal(ids.to_numpy(), np.arange(len(ids))):
                write_array(path, ids.to_numpy())
            return
        longest = int(ids.str.len_chars().max() or 1)  # type: ignore[arg-type]
        with ArrayFile(path, f"<U{longest}", (len(ids),)) as file:
            for piece in pieces(len(ids), ROWS):
                file.write(piece.start, np.array(ids[piece].to_list(), f"<U{longest}"))

    def _columns(self, table: Keyed) -> dict[str, Any]:
        at = aligned(table, self.ids, "a table")

        def write(k: int, name: str) -> None:
            column = plain_column(table.frame.data.get_column(name), at)
            write_array(self.folder / f"column-{k}.npy", column)

        for k, name in enumerate(table.columns):
            self.journal.step(f"column {k}", write, k, name)
        return dict.fromkeys(table.columns)

    def _rows(self, features: RowValues) -> int:
        """Write features that come as an array with a row for each node."""
        value, path = features.value, features.path
        if not isinstance(value, np.ndarray) or value.ndim != 2:
            return write_features(self.folder, as_features(value, path))
        step = max(1, (ROWS << 6) // max(1, value.shape[1]))

        def write(piece: slice) -> None:
            with ArrayFile(self.folder / "x.npy", np.float32, value.shape) as file:
                rows = np.array(value[piece])  # torch warns of what it cannot write to
                file.write(piece.start, as_features(rows, path, piece.start).numpy())
            forget(value)

        for piece in pieces(len(value), step):
            self.journal.step(f"rows {piece.start}", write, piece)
        return int(value.shape[1])

    def _encoded(
        self, features: Keyed, given: Given, label: str | None
    ) -> tuple[dict[str, Any], list[str]]:
        """Write the columns of a table, and the features that they make."""
        frame, at = features.frame, feature_rows(features, self.ids, self.edges)
        text = tuple(name for name in given.text if name in features.columns)
        about = FeatureTable(
            MappedColumns(len(at), {}, {}), frame.path, text, given.date_parts, label
        )
        stems = {name: f"table-{k}" for k, name in enumerate(features.columns)}
        done = {
            name: self.journal.step(f"features {stem}", self._column, name, stem, frame, at, about)
            for name, stem in stems.items()
        }
        tree = {"label": label, "columns": [one["encoding"] for one in done.values()]}
        encoding = Encoding.from_tree(tree)
        notes = notes_on_gaps(encoding, {name: one["missing"] for name, one in done.items()})
        files = {file: what for one in done.values() for file, what in one["files"].items()}
        arrays = {file: open_array(self.folder / file, what) for file, what in files.items()}
        table = replace(about, source=MappedColumns(len(at), stems, arrays))
        kinds = {name: one["words"] for name, one in done.items() if one["words"]}
        self._encode(table, encoding, kinds)
        found = {"feature_names": encoding.names, "table": about_table(table, stems)}
        return found | {"num_features": len(encoding.names)}, notes

    def _column(
        self, name: str, stem: str, frame: Frame, at: Ints, about: FeatureTable
    ) -> dict[str, Any]:
        """Write a column, and learn how it becomes features."""
        import polars as pl

        column = without_text(clean_text(frame.data.get_column(name)))[at]
        files = write_column(self.folder, stem, column)
        table = replace(about, source=pl.DataFrame([column]))
        fitted = Encoding.fit(table, location=lambda row: frame.location(int(at[row])))
        words = ""
        if name in about.text and column.dtype.is_float():
            whole = (column.cast(pl.Int64, strict=False).cast(column.dtype) == column).fill_null(
                True
            )
            words = "Int64" if whole.all() else "String"
        return {
            "encoding": fitted.to_tree()["columns"][0],
            "missing": column.null_count(),
            "words": words,
            "files": {file: _header(self.folder / file) for file in files},
        }

    def _encode(self, table: FeatureTable, encoding: Encoding, words: dict[str, str]) -> None:
        import polars as pl

        width, total = len(encoding.names), len(table)
        arrays = tuple(table.source.arrays.values())  # type: ignore[union-attr]

        def rows(piece: slice) -> Any:
            block = table.rows(piece)
            for array in arrays:
                forget(array)
            # How numbers are written as words depends on all of them, not on those of a block.
            cast = [pl.col(name).cast(getattr(pl, kind)) for name, kind in words.items()]
            return encoding(replace(block, source=block.data.with_columns(cast)))

        def write(piece: slice) -> None:
            with ArrayFile(self.folder / "x.npy", np.float32, (total, width)) as file:
                file.write(piece.start, rows(piece).numpy())

        def write_sparse() -> None:
            start = np.zeros(total + 1, np.int64)
            with (
                Growing(self.folder / "x-column.npy", np.int64) as column,
                Growing(self.folder / "x-value.npy", np.float32) as value,
            ):
                for piece in pieces(total, ROWS):
                    x = rows(piece)
                    counts = x.crow_indices().numpy()[1:] + start[piece.start]
                    start[piece.start + 1 : piece.stop + 1] = counts
                    column.add(x.col_indices().numpy())
                    value.add(x.values().numpy())
            index = short(max(width, int(start[-1])))
            write_array(self.folder / "x-start.npy", start.astype(index))
            _shorten(self.folder / "x-column.npy", index)

        if table.text:
            self.journal.step("encode", write_sparse)
            return
        step = max(1, (ROWS << 6) // max(1, width))
        for piece in pieces(total, step):
            self.journal.step(f"encode {piece.start}", write, piece)


def _header(path: Path) -> dict[str, Any]:
    array = np.load(path, mmap_mode="r")
    return {"dtype": array.dtype.str, "shape": list(array.shape)}


def _shorten(path: Path, dtype: Any) -> None:
    """Write an array of indices anew in another type."""
    array = np.load(path, mmap_mode="r")
    if array.dtype != dtype:
        other = path.with_suffix(".new")
        with ArrayFile(other, dtype, array.shape) as file:
            for piece in pieces(len(array), 1 << 22):
                file.write(piece.start, array[piece])
        other.replace(path)
