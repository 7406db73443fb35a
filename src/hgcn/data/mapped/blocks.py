"""Tables that may be larger than memory, as blocks of rows.

A Parquet file is read some rows at a time. Text is parsed once, block by block, and its columns are
kept in files of their own, so that later one column or one block can be read by itself.
"""

from __future__ import annotations

import gzip
import io
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from hgcn.data.mapped.journal import Journal
from hgcn.data.reading.bounds import MOST_LINE, check_lines, most_unpacked, refuse_growth
from hgcn.data.reading.lines import GZIP, clean_lines, without_mark
from hgcn.data.reading.parquet import ParquetRows
from hgcn.data.reading.tables import (
    Frame,
    Guess,
    Table,
    TextForm,
    check_rows,
    is_parquet,
    parquet_location,
    parse_text,
    pick_columns,
    table_path,
    text_form,
)
from hgcn.errors import DataError

if TYPE_CHECKING:
    import polars as pl

BLOCK_ROWS = 1 << 22
"""Rows of a block of a Parquet file."""
BLOCK_BYTES = 1 << 26
"""Bytes of a block of text."""


@dataclass(frozen=True)
class Blocks:
    """A table as blocks of rows; where whole columns are asked for, it stands for a DataFrame.

    Attributes:
        schema: the names and types of the columns.
        sizes: the number of rows of each block.
        read: a function that reads some columns of a block.
    """

    schema: pl.Schema
    sizes: Sequence[int]
    read: Callable[[int, Sequence[str]], pl.DataFrame]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    @property
    def height(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> list[int]:
        """The first row of each block."""
        return [0, *accumulate(self.sizes)][:-1]

    def get_column(self, name: str) -> pl.Series:
        """A whole column."""
        import polars as pl

        blocks = [self.read(k, [name]).get_column(name) for k in range(len(self.sizes))]
        return pl.concat(blocks, rechunk=True) if blocks else pl.Series(name, [], self.schema[name])

    def __getitem__(self, name: str) -> pl.Series:
        return self.get_column(name)

    def select(self, names: Sequence[str]) -> Blocks:
        """The same table with some columns only."""
        import polars as pl

        return Blocks(pl.Schema({n: self.schema[n] for n in names}), self.sizes, self.read)


def open_blocks(table: Table, guess: Guess, journal: Journal, stem: str) -> Frame:
    """A table in a file, whose ``data`` are :class:`Blocks`.

    Args:
        table: the file and how to read it.
        guess: a function that tells whether there is a header, as for
            :func:`hgcn.data.reading.tables.read_table`.
        journal: the work that this is a part of; columns of text are kept in its folder.
        stem: how the names of these files begin.
    """
    path = table_path(table)
    frame = (
        _open_parquet(path) if is_parquet(path) else _open_text(path, table, guess, journal, stem)
    )
    check_rows(frame)
    return pick_columns(frame, table.columns)


def _open_parquet(path: Path) -> Frame:
    file = ParquetRows(path, BLOCK_ROWS)
    blocks = Blocks(file.schema, file.sizes, file.read)
    return Frame(blocks, str(path), parquet_location(path))  # type: ignore[arg-type]


def _open_text(path: Path, table: Table, guess: Guess, journal: Journal, stem: str) -> Frame:
    import polars as pl

    folder = journal.folder
    found = journal.step(f"{stem} form", _form, path, table, guess)
    form = TextForm(**found)
    done: list[dict[str, int]] = []
    texts: Iterator[TextBlock] | None = None
    while not done or done[-1]["rows"] >= 0:

        def parse() -> dict[str, int]:
            nonlocal texts
            last = done[-1] if done else {"end": 0, "line": 1}
            texts = texts or text_blocks(path, last["end"], last["line"])
            block = next(texts, None)
            if block is None:
                return {**last, "rows": -1}
            frame = parse_text(form.text(block.data, block.line), form.names)
            for at, name in enumerate(form.names):
                buffer = io.BytesIO()
                frame.select(pl.col(name)).write_ipc(buffer, compression="lz4")
                (folder / f"{stem}-{len(done)}-{at}.arrow").write_bytes(buffer.getbuffer())
            return {"rows": frame.height, "end": block.end, "line": block.next_line}

        done.append(journal.step(f"{stem} block {len(done)}", parse))
    sizes = [block["rows"] for block in done[:-1]]
    if form.header and sizes:
        sizes[0] -= 1

    def read(block: int, names: Sequence[str]) -> pl.DataFrame:
        files = [folder / f"{stem}-{block}-{form.names.index(name)}.arrow" for name in names]
        data = pl.concat([pl.read_ipc(file) for file in files], how="horizontal")
        return data.slice(1) if form.header and block == 0 else data

    def location(row: int) -> str:
        begins = [0, *accumulate(block["rows"] for block in done[:-1])]
        row += 1 if form.header else 0
        block = bisect_right(begins, row) - 1
        last = done[block - 1] if block else {"end": 0, "line": 1}
        row -= begins[block]
        for found in text_blocks(path, last["end"], last["line"]):
            text = form.text(found.data, found.line)
            lines = [line for line, fields in text.records() if fields]
            if row < len(lines):
                return f"{form.name}, line {lines[row]}"
            row -= len(lines)
        return form.name

    blocks = Blocks(pl.Schema(dict.fromkeys(form.names, pl.String)), sizes, read)
    return Frame(blocks, form.name, location, form.header)  # type: ignore[arg-type]


def _form(path: Path, table: Table, guess: Guess) -> dict[str, Any]:
    first = next(text_blocks(path), None)
    if first is None:
        raise DataError(f"Expected a table, got an empty file ({path}).")
    return dict(text_form(path, first.data, table, guess).__dict__)


class TextBlock(NamedTuple):
    """Whole records of a text file, unpacked.

    Attributes:
        data: their bytes, of clean lines.
        line: the number of the first line.
        end: where they end, in bytes of the unpacked file.
        next_line: the number of the line there.
    """

    data: bytes
    line: int
    end: int
    next_line: int


def text_blocks(path: Path, start: int = 0, line: int = 1) -> Iterator[TextBlock]:
    """The records of a text file, some at a time.

    Args:
        path: the file.
        start: where to begin, in bytes of the unpacked text.
        line: the number of the line there.
    """
    name, packed = str(path), path.stat().st_size
    try:
        with path.open("rb") as opened:
            zipped = opened.read(2) == GZIP
            opened.seek(0)
            file: IO[bytes] = gzip.GzipFile(fileobj=opened) if zipped else opened  # type: ignore[assignment]
            file.seek(start)
            rest, end = b"", start
            while True:
                # So that a block is the same if reading begins with it.
                more = file.read(BLOCK_BYTES - len(rest) % BLOCK_BYTES)
                data = rest + more
                if zipped and end + len(data) > most_unpacked(packed):
                    hint = "If it is meant to be so, unpack it with gunzip."
                    refuse_growth(name, packed, hint)
                cut = _cut(data) if more else len(data)
                if more and not cut:
                    check_lines(data, name, line)
                    rest = data
                    continue
                block, rest = data[:cut], data[cut:]
                block = without_mark(block, name) if not end else block
                end += cut
                ends = block.count(b"\r") + block.count(b"\n") - block.count(b"\r\n")
                block = clean_lines(block, name, line)
                if block.strip():
                    yield TextBlock(block, line, end, line + ends)
                line += ends
                if not more:
                    return
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            f"Expected a whole gzip file, got a damaged or cut one ({name}). Copy it again."
        ) from None
    except OSError as error:
        raise DataError(
            f"Expected a readable file, got: {error.strerror or error} ({name})."
        ) from None


def _cut(data: bytes) -> int:
    """Where to cut a text so that no record is torn: after a line end that is in no quotes."""
    sign = b"\n" if b"\n" in data else b"\r"
    cut = data.rfind(sign, 0, len(data) - 1 if sign == b"\r" else None)
    odd = data.count(b'"', 0, cut) % 2 if cut >= 0 else 0
    last = cut
    while odd and cut >= 0:
        before = data.rfind(sign, 0, cut)
        odd ^= data.count(b'"', before + 1, cut) % 2
        cut = before
    if cut < 0 and len(data) > 4 * MOST_LINE:
        cut = last  # a quote is left open, which parsing will say
    return cut + 1
