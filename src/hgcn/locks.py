"""Locks of the operating system on files: a process that dies gives them back."""

from __future__ import annotations

import contextlib
import os
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
    """Hold the lock of a file, or raise an error if another process holds it.

    Who holds the lock may remove the file.
    """
    with contextlib.ExitStack() as held:
        while True:
            file = held.enter_context(path.open("a+b"))
            try:
                _lock(file, wait=False)
            except OSError:
                raise error from None
            if _is_at(file, path):
                break
            held.close()  # it was removed in between: its lock excludes nobody
        yield


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


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

    def share(handle: int) -> bool:
        """Locks that many processes may hold are not to be had here."""
        return False

else:
    import fcntl

    def _lock(file: IO[bytes], *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def share(handle: int) -> bool:
        """Share the lock of an open file until it is closed.

        Returns:
            Whether it is certain that no other process shared it before.
        """
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except OSError:
            alone = False
        fcntl.flock(handle, fcntl.LOCK_SH)
        return alone
