"""Tables in Parquet files, whose every byte may be wrong.

pyarrow reads them. It checks what it is told, and the checksums of pages where a file has them;
polars ends the process if damage makes it ask for more memory than there is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return _read(file, path)
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


def _read(file: Any, path: Path) -> pl.DataFrame:
    import polars as pl
    import pyarrow as pa

    schema, rows = file.schema_arrow, file.metadata.num_rows
    check_columns(len(schema), str(path))
    # Even a column of nothing but zeros, which takes no room in the file, has 8 bytes a row.
    check_growth(path, 8 * rows * len(schema), HINT)
    if len(set(schema.names)) < len(schema):
        raise ValueError("two of its columns have the same name")
    types = {name: _type(schema.field(name)) for name in schema.names}
    known = [name for name, dtype in types.items() if not _is_opaque(dtype)]
    _check_texts(path, [name for name in known if types[name] == pl.String])
    batches = list(_batches(file, path, known))
    if sum(batch.num_rows for batch in batches) != (rows if known else 0):
        raise ValueError(f"it has not the {rows:,} rows that it should have")
    data = {}
    for name, dtype in types.items():
        if name in known:
            pieces = [batch.column(name) for batch in batches]
            data[name] = pl.Series(
                name, pl.from_arrow(pa.chunked_array(pieces, schema.field(name).type))
            )
        else:
            data[name] = pl.Series(name, [None], dtype=dtype).new_from_index(0, rows)
    return pl.DataFrame(data)


def _type(field: Any) -> pl.DataType:
    """The type that polars has for a column."""
    import polars as pl
    import pyarrow as pa

    return pl.Series(pl.from_arrow(pa.array([], field.type))).dtype


def _is_opaque(dtype: pl.DataType) -> bool:
    import polars as pl

    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)


def _batches(file: Any, path: Path, names: Sequence[str]) -> Iterator[Any]:
    """The rows of some columns, checked, as long as they are no more bytes than they may be."""
    size = 0
    for batch in file.iter_batches(BATCH, columns=list(names)):
        batch.validate(full=True)  # texts are UTF-8
        size += batch.nbytes
        check_growth(path, size, HINT)
        yield batch


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
