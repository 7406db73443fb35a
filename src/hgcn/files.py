"""Files and folders, written so that a file is either whole or not there."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hgcn import locks
from hgcn.errors import RunError

if TYPE_CHECKING:
    import polars as pl

MOST_DEPTH = 100
"""How deep JSON may be nested: no file of hgcn has 20 levels."""
_NO_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"\[\]{}]++', re.DOTALL)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place at the end, if all went well.

    Whoever reads ``path`` sees the old file or the new one, never half of it: also after a crash.
    What a process that was killed has left goes with the next writing.
    """
    try:
        remove_leftovers(path)
        with contextlib.ExitStack() as held:
            handle, temporary = _open_temporary(path)
            held.callback(os.close, handle)
            try:
                yield temporary
                os.fsync(handle)
                temporary.chmod(0o666 & ~_umask())
                if os.name == "nt":  # where an open file cannot be moved
                    held.close()
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(
            f"Expected to write {path}, but: {error.strerror or error}. What was there before is "
            "unchanged."
        ) from error


def _open_temporary(path: Path) -> tuple[int, Path]:
    """A new file beside ``path``, marked as in use for as long as its handle is open."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        locks.share(handle)
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)  # another process took it for a leftover before it was marked


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files of ``path`` that nobody writes any more."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        with contextlib.suppress(OSError):  # it is gone already, or must stay
            handle = os.open(leftover, os.O_RDONLY)
            try:
                if locks.share(handle):
                    leftover.unlink()
            finally:
                os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_bytes(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file at once, of one piece or several.

    The output of other packages is put together in memory first: each of them has an error of its
    own for a full disk.
    """
    with replacing(path) as temporary, temporary.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def write_text(path: Path, text: str) -> None:
    """Write a text file at once."""
    write_bytes(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file at once."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table at once: as CSV if the ending says so, else as Parquet with checksums."""
    write_blocks(path, [table])


def write_blocks(path: Path, blocks: Iterable[pl.DataFrame]) -> int:
    """Write a table that comes as blocks of rows, at least one; returns the number of rows.

    No more than a block is in memory. The file is there when all of it is.
    """
    rows = 0
    with replacing(path) as temporary, temporary.open("wb") as file, contextlib.ExitStack() as held:
        writer: Any = None
        for block in blocks:
            rows += block.height
            if path.suffix.lower() == ".csv":
                file.write(block.write_csv(include_header=writer is None).encode())
                writer = file
                continue
            import pyarrow.parquet as pq

            content = block.to_arrow()
            if writer is None:
                writer = held.enter_context(
                    pq.ParquetWriter(
                        file, content.schema, compression="zstd", write_page_checksum=True
                    )
                )
            writer.write_table(content)
    return rows


def exists(path: Path) -> bool:
    """Whether there is something at a path, which may be one that no file can have."""
    return os.path.exists(path)  # noqa: PTH110  # pathlib raises an error for a name too long


def kind_of(path: Path) -> str | None:
    """What is at a path if it is no regular file, such as "a pipe", which may have no end."""
    mode = path.stat().st_mode
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[io.BufferedReader]:
    """A regular file of a run, opened; an error if that, or reading it, cannot be done."""
    try:
        kind = kind_of(path)
        if kind is not None:
            raise RunError(f"Expected a regular file, got {kind} ({path}).")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise RunError(f"Expected to read {path}, but: {error.strerror or error}.") from error


def parse_json(content: bytes | str) -> Any:
    """The value that JSON in UTF-8 stands for; a ValueError if it is none or nested too deep."""
    text = content.decode() if isinstance(content, bytes) else content
    steps = (1 if bracket in "[{" else -1 for bracket in _NO_BRACKETS.sub("", text))
    if max(accumulate(steps), default=0) > MOST_DEPTH:
        raise ValueError(f"it is nested more than {MOST_DEPTH} levels deep")
    return json.loads(text)


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    with reading(path) as file:
        content = file.read()
    try:
        return parse_json(content)
    except ValueError as error:
        raise RunError(f"Expected {path} to be JSON, got something else: {error}.") from error


def make_folder(path: Path) -> None:
    """Create a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"Expected to create the folder {path}, but: {error.strerror}.") from error


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
