"""Tables in Parquet files, whose every byte may be wrong.

pyarrow reads them. It checks what it is told, and the checksums of pages where a file has them;
polars ends the process if damage makes it ask for more memory than there is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn.data.reading.bounds import check_columns, check_growth
from hgcn.errors import DataError

if TYPE_CHECKING:
    import polars as pl

# Read when pyarrow starts. Its own memory pool begins with a gigabyte of addresses, which is more
# than a process with a limit may have left.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

BATCH = 1 << 16
"""Rows that are read at a time."""
HINT = "Give features as an .npz file, or leave columns out."


def read_parquet(path: Path) -> pl.DataFrame:
    """The table of a Parquet file.

    Columns of lists, records or bytes, which nobody can use, have their type but no values: a few
    bytes of a file may stand for any number of them.
    """
    import polars as pl

    file, size, blocks = ParquetRows(path), 0, []
    for k in range(len(file.sizes) if file.known else 0):
        blocks.append(file.read(k, file.known))
        size += int(blocks[-1].estimated_size())
        check_growth(path, size, HINT)
    data = {}
    for name, dtype in file.schema.items():
        if name in file.known and blocks:
            data[name] = pl.concat([block.get_column(name) for block in blocks], rechunk=True)
        else:
            data[name] = pl.Series(name, [None], dtype=dtype).new_from_index(0, file.height)
    return pl.DataFrame(data)


class ParquetRows:
    """A Parquet file, of which some rows and columns are read at a time.

    Args:
        path: the file.
        rows: the number of rows of a block, at most.

    Attributes:
        schema: the names and types of all columns.
        known: the names of those that can be used.
        height: the number of rows.
        sizes: the number of rows of each block.
    """

    def __init__(self, path: Path, rows: int = 1 << 22) -> None:
        import polars as pl

        self.path = path
        with _told(path), _opened(path) as file:
            schema, self.height = file.schema_arrow, file.metadata.num_rows
            check_columns(len(schema), str(path))
            # Even a column of nothing but zeros, which takes no room in it, has 8 bytes a row.
            check_growth(path, 8 * self.height * len(schema), HINT)
            if len(set(schema.names)) < len(schema):
                raise ValueError("two of its columns have the same name")
            self.schema = pl.Schema({name: _type(schema.field(name)) for name in schema.names})
            self.known = [name for name, dtype in self.schema.items() if not _is_opaque(dtype)]
            _check_texts(path, [name for name in self.known if self.schema[name] == pl.String])
            about = file.metadata
            groups = [about.row_group(at).num_rows for at in range(about.num_row_groups)]
            self._spans = list(_spans(groups, rows))
            self.sizes = [stop - start for _, start, stop in self._spans]
            if sum(self.sizes) != self.height:
                raise ValueError(f"it has not the {self.height:,} rows that it should have")
        self._reader = _Reader(path, [], [])

    def read(self, block: int, names: Sequence[str]) -> pl.DataFrame:
        """Some columns of a block."""
        import polars as pl
        import pyarrow as pa

        groups, start, stop = self._spans[block]
        reader = self._reader
        if (reader.groups, reader.names) != (groups, list(names)) or reader.position > start:
            reader = self._reader = _Reader(self.path, groups, list(names))
        with _told(self.path):
            reader.take(start)
            found = reader.take(stop)
            columns = {}
            for name in names:
                kind = reader.schema.field(name).type
                values = pa.chunked_array([batch.column(name) for batch in found], kind)
                columns[name] = pl.Series(name, pl.from_arrow(values))
        return pl.DataFrame(columns)


class _Reader:
    """Some columns of some row groups, read from the first row on."""

    def __init__(self, path: Path, groups: list[int], names: list[str]) -> None:
        self.path, self.groups, self.names, self.position = path, groups, names, 0
        self._batches: Iterator[Any] | None = None
        self._rest: Any = None

    def take(self, stop: int) -> list[Any]:
        """The batches up to a row."""
        if self._batches is None:
            file = _opened(self.path)
            self.schema = file.schema_arrow
            self._batches = file.iter_batches(BATCH, row_groups=self.groups, columns=self.names)
        found, size = [], 0
        while self.position < stop:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                raise ValueError("it has fewer rows than it says")
            if self._rest is None:
                batch.validate(full=True)  # texts are UTF-8
            wanted = min(batch.num_rows, stop - self.position)
            self._rest = batch.slice(wanted) if wanted < batch.num_rows else None
            found.append(batch.slice(0, wanted))
            size += found[-1].nbytes
            check_growth(self.path, size, HINT)
            self.position += wanted
        return found


def _spans(groups: Sequence[int], rows: int) -> Iterator[tuple[list[int], int, int]]:
    """Blocks of rows: row groups, and the first and last row among theirs."""
    together: list[int] = []
    for at, size in enumerate(groups):
        if together and sum(groups[k] for k in together) + size > rows:
            yield together, 0, sum(groups[k] for k in together)
            together = []
        if size <= rows:
            together.append(at)
            continue
        for start in range(0, size, rows):
            yield [at], start, min(start + rows, size)
    if together:
        yield together, 0, sum(groups[k] for k in together)


def _opened(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, page_checksum_verification=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say plainly that a file is damaged."""
    import polars as pl
    import pyarrow as pa

    try:
        yield
    except DataError:
        raise
    except (
        pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError,
        ValueError,
    ) as error:  # fmt: skip
        if isinstance(error, MemoryError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DataError(
            f"Expected a Parquet file, got a damaged or different one ({path}): {reason}."
        ) from None


def _type(field: Any) -> pl.DataType:
    """The type that polars has for a column."""
    import polars as pl
    import pyarrow as pa

    return pl.Series(pl.from_arrow(pa.array([], field.type))).dtype


def _is_opaque(dtype: pl.DataType) -> bool:
    import polars as pl

    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)


def _check_texts(path: Path, names: Sequence[str]) -> None:
    """Refuse columns in which one long text, stored once, would be repeated in too many rows."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not names:
        return
    options = {"read_dictionary": list(names), "page_checksum_verification": True}
    with pq.ParquetFile(path, **options) as file:
        size = 0
        for at in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(at).num_rows
            first = next(file.iter_batches(1, row_groups=[at], columns=list(names)), None)
            for column in () if first is None else first.columns:
                column.validate(full=True)
                size += rows * (pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
            check_growth(path, size, HINT)
