"""Downloads that survive broken connections: resumed, checked, and whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from hgcn.errors import DataError
from hgcn.locks import locked

CHUNK = 1 << 16
# Answers that another try may change; any other 4xx or 5xx is final.
PASSING = {408, 425, 429, 500, 502, 503, 504}
MOST_BYTES = 1 << 30
"""Size of a download; the largest file of a data set has 10 MB."""
LEAST_SPEED = 1000
"""Bytes a second, in the mean over the time that a connection may be silent."""


class _Broken(Exception):
    """The connection broke; the bytes that arrived are kept, and another try may bring the rest."""


def cache_folder() -> Path:
    """The folder of downloads: ``HGCN_CACHE``, else ``hgcn`` in the user's cache folder."""
    if own := os.environ.get("HGCN_CACHE"):
        return Path(os.path.expanduser(own))  # noqa: PTH111 (no error for an unknown user)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hgcn"


def download(
    url: str,
    path: Path,
    *,
    sha256: str,
    timeout: float = 30.0,
    tries: int = 4,
    wait: float = 1.0,
    progress: bool = True,
) -> Path:
    """Bring a file to ``path``, whole and with the expected checksum, or raise a DataError.

    Bytes are collected in ``path.part``; an interrupted download goes on from there, in the same
    call or in a later one. Only a checked file is renamed to ``path``. Processes that want the same
    file take turns, and all but the first find it there.

    Args:
        url: the address, http or https.
        path: the file to write; folders are made as needed.
        sha256: the expected checksum, in hexadecimal.
        timeout: seconds without a byte after which the connection counts as broken.
        tries: number of attempts to connect, the first included.
        wait: seconds to wait before the second try, doubled before each further one.
        progress: show a bar, where the terminal can.
    """
    with writable(path.parent), locked(path.with_name(path.name + ".lock")):
        if path.is_file() and _digest(path) == sha256:
            return path
        partial = path.with_name(path.name + ".part")
        resumed = partial.is_file() and partial.stat().st_size > 0
        _complete(url, partial, timeout=timeout, tries=tries, wait=wait, progress=progress)
        if resumed and _digest(partial) != sha256:
            # The file left by an earlier call may be damaged: once more, from the start.
            partial.unlink()
            _complete(url, partial, timeout=timeout, tries=tries, wait=wait, progress=progress)
        found = _digest(partial)
        if found != sha256:
            partial.unlink()
            raise DataError(
                f"Expected {url} to have SHA-256 {sha256}, got {found}; the file was removed. "
                "Did a proxy or a login page answer instead?"
            )
        partial.replace(path)
    return path


def _complete(
    url: str, partial: Path, *, timeout: float, tries: int, wait: float, progress: bool
) -> None:
    for attempt in range(1, tries + 1):
        try:
            with _bar(url, progress) as advance:
                _receive(url, partial, timeout, advance)
            return
        except _Broken as broken:
            if attempt == tries:
                size = partial.stat().st_size if partial.is_file() else 0
                raise DataError(
                    f"Expected to download {url}, got {broken} ({tries} tries, {size:,} bytes "
                    "kept). Is there a connection? The next call goes on from here."
                ) from broken.__cause__
            time.sleep(wait * 2 ** (attempt - 1))


def _receive(url: str, partial: Path, timeout: float, advance: Callable[[int, int], None]) -> None:
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "hgcn"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        # The addresses are those of data sets, and what comes is held to a checksum.
        with urllib.request.urlopen(request, timeout=timeout) as response:  # nosec B310
            if response.status != 206 or not _continues(response, start):
                start = 0  # the server sent the whole file
            _write(response, partial, start, timeout, advance)
    except urllib.error.HTTPError as error:
        with error:
            if (
                error.code == 416 and start
            ):  # the server has no more bytes, or the partial file is of another file
                partial.unlink()
                raise _Broken("an unfit partial file") from error
            if error.code in PASSING:
                raise _Broken(f"HTTP status {error.code}") from error
            raise DataError(
                f"Expected to download {url}, got HTTP status {error.code} ({error.reason}). "
                "Was the file moved?"
            ) from error
    except TimeoutError as error:
        raise _Broken(f"no answer within {timeout:g} s") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _Broken(f"no answer within {timeout:g} s") from error
        raise _Broken(f"{error.reason}") from error
    except (HTTPException, ConnectionError, ssl.SSLError) as error:
        raise _Broken(f"a broken connection ({type(error).__name__})") from error


def _continues(response: HTTPResponse, start: int) -> bool:
    match = re.match(r"bytes ([0-9]{1,18})-", response.headers.get("Content-Range", ""))
    return match is not None and int(match[1]) == start


def _write(
    response: HTTPResponse,
    partial: Path,
    start: int,
    timeout: float,
    advance: Callable[[int, int], None],
) -> None:
    # A length that is no number is as good as none: the checksum tells whether the file is whole.
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if re.fullmatch("[0-9]{1,18}", length) else 0
    done = counted = start
    clock = time.monotonic()
    with partial.open("r+b" if start else "wb") as file:
        file.seek(start)
        advance(done, total)
        # read1 hands over what is there, so that nothing is lost when the line breaks.
        while chunk := response.read1(CHUNK):
            file.write(chunk)
            done += len(chunk)
            advance(done, total)
            if done > MOST_BYTES:
                break
            if time.monotonic() - clock > timeout:
                if done - counted < LEAST_SPEED * timeout:
                    raise _Broken(f"only {done - counted:,} bytes in {timeout:g} s")
                counted, clock = done, time.monotonic()
    if done > MOST_BYTES:
        partial.unlink()
        raise DataError(
            f"Expected a file of at most {MOST_BYTES:,} bytes, got more from {response.url}; it "
            "was removed. Did a proxy or a login page answer instead?"
        )
    if total and done < total:
        raise _Broken(f"{done:,} of {total:,} bytes")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _bar(url: str, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to call with bytes done and bytes in all (0 if unknown)."""
    quiet = not logging.getLogger("hgcn").isEnabledFor(logging.WARNING)
    if quiet or not (shown and sys.stderr.isatty()):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(url.rsplit("/", 1)[-1], total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


@contextlib.contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Make a folder, and say plainly if it, or something in it, cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise DataError(
            f"Expected to write in the folder {folder}, got: {error.strerror or error}. "
            "Set HGCN_CACHE to a folder with room that you may write in."
        ) from error
