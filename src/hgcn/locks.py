"""Locks of the operating system on files: a process that dies gives them back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, waiting for it as needed."""
    with path.open("a+b") as file:
        _lock(file, wait=True)
        yield


@contextlib.contextmanager
def locked_or(path: Path, error: Exception) -> Iterator[None]:
    """Hold the lock of a file, or raise an error if another process holds it."""
    with path.open("a+b") as file:
        try:
            _lock(file, wait=False)
        except OSError:
            raise error from None
        yield


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes], *, wait: bool) -> None:
        file.seek(0)
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return
            except OSError:  # waiting is given up after ten seconds
                if not wait:
                    raise

else:
    import fcntl

    def _lock(file: IO[bytes], *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
