"""The file that keeps the trials of a search, whatever happens to the processes that write it."""

from __future__ import annotations

import json
import os
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend

from hgcn.errors import RunError
from hgcn.locks import locked, share


class Journal(JournalFileBackend):
    """Optuna's journal, made safe against death in the middle of a line.

    Its lock is one of the operating system: a process that is killed gives it back. A line that was
    cut off, by a crash or a full disk, is dropped: whoever wrote it was told, or is no more.

    Args:
        path: the file; it is made if it is not there.

    Attributes:
        alone: whether it is known that no other process used the journal when it was opened.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path).resolve()
        lock: Any = _SystemLock(path)
        super().__init__(str(path), lock_obj=lock)
        lock.acquire()
        try:
            _drop_cut_line(path)
            handle = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, handle)
            self.alone = share(handle)
        finally:
            lock.release()

    def read_logs(self, log_number_from: int) -> Any:
        """The entries from a number on."""
        try:
            yield from super().read_logs(log_number_from)
        except (RecursionError, ValueError) as error:  # JSON that is too deep, or none
            raise RunError(
                f"Expected {self._file_path} to be the journal of a search, got something else: "
                f"{error}. Choose another `storage`, or remove the file."
            ) from error

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add entries, all or none."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        self._lock.acquire()
        try:
            # Without a buffer: it would be written when the file is closed, on a full disk, too.
            with Path(self._file_path).open("ab", buffering=0) as file:
                size = file.tell()
                try:
                    rest = text.encode()
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError as error:
                    os.ftruncate(file.fileno(), size)
                    raise RunError(
                        f"Expected to write {self._file_path}, but: {error.strerror or error}. The "
                        "trials before are kept."
                    ) from error
        finally:
            self._lock.release()


class _SystemLock:
    """What Optuna asks of a lock, from the operating system."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f".{path.name}.lock")
        self._held = ExitStack()

    def acquire(self) -> bool:
        self._held.enter_context(locked(self._path))
        return True

    def release(self) -> None:
        self._held.close()


def _drop_cut_line(path: Path) -> None:
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return
        end = size
        while end:  # from the back: a line is short, and the file may be long
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)
