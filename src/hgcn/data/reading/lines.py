"""The text of a table: its bytes, its records with their lines, and its faults.

Tables are parsed by polars, which is fast but says little about what it refuses, and fills short
rows silently. So a doubtful file is read again here, record by record, to name the line at fault.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from hgcn.data.reading.bounds import (
    MOST_STDIN,
    STDIN,
    check_file,
    check_lines,
    most_unpacked,
    refuse_growth,
)
from hgcn.errors import DataError
from hgcn.text import count

CHUNK = 1 << 20
GZIP = b"\x1f\x8b"
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}


@dataclass(frozen=True)
class Text:
    """The bytes of a text file, and how its records are separated."""

    path: str
    data: bytes
    delimiter: str
    comment: str | None = None
    first: int = 1
    """The number of the first line, if the bytes are not those from the beginning."""

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Line and fields of each record; those of a blank line are ``[]``."""
        # The line of the file that each yielded line is: comments are passed over.
        numbers: list[int] = []

        def lines() -> Iterator[str]:
            for number, line in enumerate(io.StringIO(self.decode(), newline=""), self.first):
                if self.comment is None or not line.startswith(self.comment):
                    numbers.append(number)
                    yield line

        reader = csv.reader(lines(), delimiter=self.delimiter, strict=True)
        while True:
            before = reader.line_num
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if "field limit" in str(error):
                    raise DataError(
                        f"Expected fields of at most {csv.field_size_limit():,} characters, got a "
                        f"longer one ({self.path}, line {numbers[before]}). Is a quote left open?"
                    ) from None
                raise DataError(
                    f"Expected quotes around whole fields, got {error} ({self.path}, line "
                    f"{numbers[before]}). A quote inside a field is written twice."
                ) from None
            blank = len(fields) <= 1 and not "".join(fields).strip()
            yield numbers[before], [] if blank else fields

    def head(self, size: int = 1 << 16) -> Text:
        """The first lines, at least one."""
        end = self.data.find(b"\n", size)
        return self if end < 0 else replace(self, data=self.data[:end])

    def decode(self) -> str:
        """The text; refused with the line where it is not UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + self.first
            raise DataError(
                f"Expected text in UTF-8, got the byte 0x{self.data[error.start]:02x} "
                f"({self.path}, line {line}). Save the file as UTF-8; it may be Latin-1 now."
            ) from None

    def line_of(self, row: int) -> int:
        """The number in the file of the line with a record; header and blank lines count."""
        lines = (line for line, fields in self.records() if fields)
        return next(line for at, line in enumerate(lines) if at == row)

    def check_widths(self, width: int) -> list[bool]:
        """Whether each line is a record and not blank; refuses records of another width."""
        filled = []
        for line, fields in self.records():
            if fields and len(fields) != width:
                hint = f"A field with {DELIMITERS[self.delimiter]} in it needs quotes."
                raise DataError(
                    f"Expected {count(width, 'field')}, as in the first line, got {len(fields)} "
                    f"({self.path}, line {line}). "
                    + (hint if len(fields) > width else "Is something missing there?")
                )
            filled.append(bool(fields))
        return filled

    def complain(self, width: int, reason: str) -> NoReturn:
        """Raise an error that names the fault of a text that polars refused."""
        self.check_widths(width)
        for line, fields in self.records():
            if any('"' in field for field in fields):
                raise DataError(
                    f'Expected quotes around whole fields, got a " inside one ({self.path}, '
                    f"line {line}). Quote the whole field, and write the quote in it twice."
                )
        raise DataError(f"Expected a table, got something else ({self.path}): {reason}.")


def read_bytes(path: Path) -> bytes:
    """The bytes of a text file, unpacked, without a byte order mark; refuses what is not text."""
    name = name_of(path)
    try:
        data = _read_stdin() if path == STDIN else _read_file(path)
        if data[:2] == GZIP:
            data = _unpack(data, name)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(
            f"Expected a whole gzip file, got a damaged or cut one ({name}). Copy it again."
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"Expected a readable file, got: {reason} ({name}).") from None
    except MemoryError:
        raise DataError(
            f"Expected a table that fits into memory, got a larger one ({name})."
        ) from None
    data = without_mark(data, name)
    if not data.strip():
        raise DataError(f"Expected a table, got an empty file ({name}).")
    return clean_lines(data, name)


def without_mark(data: bytes, name: str) -> bytes:
    """The beginning of a text without a byte order mark; refuses UTF-16."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"Expected text in UTF-8, got UTF-16 ({name}, line 1). Save it as UTF-8.")
    return data.removeprefix(b"\xef\xbb\xbf")


def clean_lines(data: bytes, name: str, first: int = 1) -> bytes:
    """Text with one kind of line end; refuses binary data and overlong lines.

    Args:
        data: whole lines.
        name: what errors call the file.
        first: the number of the first line.
    """
    zero = data.find(b"\0")
    if zero >= 0:
        line = data.count(b"\n", 0, zero) + first
        raise DataError(
            f"Expected a text file, got binary data ({name}, line {line}). "
            "Does the file have the right ending? Known are .csv, .tsv, .txt and .parquet."
        )
    if data.count(b"\r") != data.count(b"\r\n"):  # line ends of old Macs
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    check_lines(data, name, first)
    return data.rstrip(b"\r\n") + b"\n" if data.endswith((b"\n\n", b"\r\n\r\n")) else data


def name_of(path: Path) -> str:
    """What errors call a file."""
    return "standard input" if path == STDIN else str(path)


def _read_file(path: Path) -> bytes:
    check_file(path)
    with path.open("rb") as file:
        head = file.read(CHUNK)
        if b"\0" in head and head[:2] != GZIP:
            return head  # no text: the rest, which may be endless zeros, does not matter
        file.seek(0)
        return file.read()


def _read_stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError(
            "Expected a table on standard input, got a terminal. Try: cat edges.csv | hgcn train -"
        )
    chunks: list[bytes] = []
    while chunk := sys.stdin.buffer.read(CHUNK):
        chunks.append(chunk)
        if b"\0" in chunk and chunks[0][:2] != GZIP:
            break  # no text, as above
        if len(chunks) > MOST_STDIN // CHUNK:
            raise DataError(
                f"Expected at most {MOST_STDIN:,} bytes on standard input, got more. Write them to "
                "a file, and give its path."
            )
    return b"".join(chunks)


def _unpack(data: bytes, name: str) -> bytes:
    chunks, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while chunk := file.read(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > most_unpacked(len(data)):
                refuse_growth(name, len(data), "If it is meant to be so, unpack it with gunzip.")
    return b"".join(chunks)
