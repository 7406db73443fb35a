"""Tables in CSV, TSV, plain text and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hgcn.cores import check_spare
from hgcn.data.reading.bounds import (
    STDIN,
    check_columns,
    check_file,
    most_unpacked,
)
from hgcn.data.reading.lines import DELIMITERS, Text, name_of, read_bytes
from hgcn.data.reading.parquet import read_parquet
from hgcn.errors import DataError
from hgcn.text import one_of

if TYPE_CHECKING:
    import polars as pl

# Candidates by ending of the file; the first one that the first line contains is taken.
LOOSE = (".txt", ".edges", ".edgelist")
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"} | dict.fromkeys(LOOSE, "\t ,")
PARQUET = (".parquet", ".pq")
TABLE_ENDINGS = (*SEPARATORS, *PARQUET)


Guess = Callable[[list[list[str]]], bool | None]
"""A function that tells from the first two records whether the first is a header."""
SPARE_CELLS = 10_000_000
"""A row of n fields has n bytes or more; blank lines may ask for so many fields beyond that."""
_NO_HEADER = " If the first line is no header, say so: Table(path, header=False)."


@dataclass(frozen=True)
class Table:
    """A table in a file and how to read it, if the path alone does not say enough.

    Example:
        >>> flights = Table("flights.csv", columns=("from", "to", "seats"), delimiter=";")

    Args:
        path: a ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file; text may be packed (``.gz``).
        columns: the columns to take: source, target and perhaps weight of edges, or the id and
            then anything else about nodes. In a file without a header, the names to give them.
        header: whether the first line names the columns. Found out for edges if not given; a table
            of nodes has a header unless this is False.
        delimiter: the character between fields; by the ending of the file if not given.
    """

    path: str | Path
    columns: Sequence[str] | None = None
    header: bool | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class Frame:
    """A table as it was read.

    Attributes:
        data: columns of text, or of any type if they are from Parquet.
        path: name of the source, for errors.
        location: a function from a row to its location in the file, for errors.
        header: whether there is a header; None if the first line, which was then taken as a row,
            may be one.
    """

    data: pl.DataFrame
    path: str
    location: Callable[[int], str]
    header: bool | None = True


def is_table(path: Path) -> bool:
    """Whether the ending is that of a table."""
    return _ending(path) in TABLE_ENDINGS


def read_table(table: Table, guess: Guess, *, plain: bool = True) -> Frame:
    """Read a file; ``guess`` tells from the first two records whether the first is a header.

    Columns of lists, records or bytes are refused, unless ``plain`` is False: then whoever uses a
    column checks it.
    """
    path = table_path(table)
    if is_parquet(path):
        frame = Frame(read_parquet(path), str(path), parquet_location(path))
    else:
        frame = _read_text(path, table, guess)
    check_rows(frame)
    frame = pick_columns(frame, table.columns)
    if plain:
        check_types(frame, frame.data.columns)
    return frame


def table_path(table: Table) -> Path:
    """The path of a table; refused if nothing there can be read as one."""
    path = Path(table.path)
    check_spare()
    if path != STDIN:
        check_file(path)
    if _ending(path) not in TABLE_ENDINGS and table.delimiter is None:
        raise DataError(
            f"Expected a table ending in {', '.join(TABLE_ENDINGS)}, got {_ending(path)!r} "
            f"({path}). If it is text, say what separates its fields: Table(path, delimiter=...)."
        )
    return path


def is_parquet(path: Path) -> bool:
    """Whether the ending is that of a Parquet file."""
    return _ending(path) in PARQUET


def check_rows(frame: Frame) -> None:
    """Refuse a table without rows."""
    if not frame.data.height:
        hint = "" if frame.header is None or is_parquet(Path(frame.path)) else _NO_HEADER
        raise DataError(f"Expected rows below the header, got none ({frame.path}).{hint}")


def check_types(frame: Frame, names: Sequence[str]) -> None:
    """Refuse columns whose values are neither numbers nor text nor dates, and overlong texts."""
    import polars as pl

    for name in names:
        column = frame.data.get_column(name)
        check_type(name, column.dtype, frame.path)
        if column.dtype == pl.String:
            lengths = column.str.len_bytes()
            longest = int(lengths.max() or 0)  # type: ignore[arg-type]
            if too_long(longest, len(column), int(lengths.sum())):
                refuse_length(name, longest, frame.location(lengths.arg_max() or 0))


def check_type(name: str, dtype: pl.DataType, path: str) -> None:
    """Refuse a type whose values are neither numbers nor text nor dates."""
    import polars as pl

    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"Expected a number, a text or a date in each cell of the column {name!r}, got "
            f"{dtype} ({path}). Leave the column out, or make several plain ones of it."
        )


def too_long(longest: int, rows: int, total: int) -> bool:
    """Whether one text of a column is so long that all of them would take too much memory."""
    # An array of text has room for the longest one, with 4 bytes for each letter, in every row.
    return 4 * longest * rows > most_unpacked(total)


def refuse_length(name: str, longest: int, where: str) -> NoReturn:
    """Raise the error for a text that is too long."""
    raise DataError(
        f"Expected short texts in the column {name!r}, got one of {longest:,} bytes "
        f"({where}). Leave the column out, or shorten it."
    )


def _ending(path: Path) -> str:
    if path == STDIN:
        return ".csv"
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def pick_columns(frame: Frame, columns: Sequence[str] | None) -> Frame:
    """A table with the columns asked for; all if None."""
    for name in columns or ():
        if name not in frame.data.columns:
            raise DataError(one_of("columns", name, frame.data.columns) + f" ({frame.path})")
    if columns is None:
        return frame
    return Frame(frame.data.select(columns), frame.path, frame.location, frame.header)


def parquet_location(path: Path) -> Callable[[int], str]:
    """The location of each row of a Parquet file."""
    return lambda row: f"{path}, row {row + 1}"


def _read_text(path: Path, table: Table, guess: Guess) -> Frame:
    data = read_bytes(path)
    form = text_form(path, data, table, guess)
    text = form.text(data)
    below = 1 if form.header else 0
    return Frame(
        parse_text(text, form.names).slice(below),
        form.name,
        lambda row: f"{form.name}, line {text.line_of(row + below)}",
        form.header,
    )


@dataclass(frozen=True)
class TextForm:
    """How the text of a table is read, as its first lines tell.

    Attributes:
        name: what errors call the file.
        delimiter: the character between fields.
        comment: what a line that is passed over begins with.
        names: the names of the columns.
        header: whether the first line has them; None if it may.
    """

    name: str
    delimiter: str
    comment: str | None
    names: list[str]
    header: bool | None

    def text(self, data: bytes, first: int = 1) -> Text:
        """Bytes of the file as text of this form; ``first`` is the number of their first line."""
        return Text(self.name, data, self.delimiter, self.comment, first)


def text_form(path: Path, data: bytes, table: Table, guess: Guess) -> TextForm:
    """How a text is read; ``data`` has its first lines at least."""
    name = name_of(path)
    comment = "#" if _ending(path) in LOOSE else None
    text = Text(name, data, table.delimiter or ",", comment)
    if table.delimiter is None:
        first = _first_line(text)
        fitting = [sign for sign in SEPARATORS[_ending(path)] if sign in first]
        text = Text(name, data, (fitting or SEPARATORS[_ending(path)])[0], text.comment)
    elif table.delimiter not in DELIMITERS:
        raise DataError(one_of("delimiter", table.delimiter, DELIMITERS))
    top = list(islice((fields for _, fields in text.head().records() if fields), 2))
    if not top:
        raise DataError(f"Expected a table, got comments only ({name}).")
    if table.delimiter is None:
        _check_delimiter(text.head(), top[0])
    header = table.header
    if header is None:
        header = True if table.columns is not None else guess(top)
    check_columns(len(top[0]), name)
    names = _names(text.head(), top[0], header, table)
    return TextForm(name, text.delimiter, text.comment, names, header)


def parse_text(text: Text, names: Sequence[str]) -> pl.DataFrame:
    """The records of a text as columns of text, the header among them; faults name their line."""
    import polars as pl

    _check_cells(text, len(names))
    try:
        frame = pl.read_csv(
            text.data.lstrip(b"\r\n"),
            has_header=False,
            separator=text.delimiter,
            comment_prefix=text.comment,
            schema=dict.fromkeys(names, pl.String),
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError as error:
        text.complain(len(names), str(error).splitlines()[0])
    # Polars fills what a row lacks, and reads a blank line as a row of nothing.
    if frame.to_series(-1).null_count():
        filled = text.check_widths(len(names))[-frame.height :]
        frame = frame.filter(pl.Series(filled, dtype=pl.Boolean))
    return frame


def _check_cells(text: Text, width: int) -> None:
    """Refuse a text whose lines are mostly shorter than a row: polars would fill each of them."""
    most = len(text.data) + SPARE_CELLS
    if text.data.count(b"\n") * width > most:
        rows = len(text.check_widths(width))  # lines of one field are one row
        if rows * width > most:
            raise DataError(
                f"Expected rows of {width:,} fields, got mostly blank lines ({text.path}). Remove "
                "them."
            )


def _first_line(text: Text) -> str:
    for line in text.data.split(b"\n", 100):
        if line.strip() and not (text.comment and line.startswith(text.comment.encode())):
            return line.decode(errors="replace")
    return ""


def _check_delimiter(text: Text, first: list[str]) -> None:
    """Refuse a first line that has more fields under another delimiter."""
    line = _first_line(text)
    for other, name in DELIMITERS.items():
        if other != " " and line.count(other) >= max(len(first), 1) and other != text.delimiter:
            raise DataError(
                f"Expected fields separated by {DELIMITERS[text.delimiter]}, got {len(first)} of "
                f"them and {line.count(other)} {name} ({text.path}, line {text.line_of(0)}). "
                f"Say what separates them: Table(path, delimiter={other!r})."
            )
    if len(first) < 2:
        raise DataError(
            f"Expected two columns or more, separated by {DELIMITERS[text.delimiter]}, got "
            f"{line.strip()!r} ({text.path}, line {text.line_of(0)}). "
            "Say what separates them: Table(path, delimiter=...)."
        )


def _names(text: Text, first: list[str], header: bool | None, table: Table) -> list[str]:
    where = f"({text.path}, line {text.line_of(0)})"
    if not header:
        names = list(table.columns or ())
        if names and len(names) != len(first):
            raise DataError(
                f"Expected a name for each of {len(first)} columns, got {len(names)} {where}."
            )
        return names or [f"column {at}" for at in range(1, len(first) + 1)]
    names = [name.strip() or f"column {at}" for at, name in enumerate(first, 1)]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise DataError(f"Expected different names of columns, got {twice!r} twice {where}.")
    return names
