"""Downloads against a server in this process that breaks the line in every way we know."""

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hgcn.data.datasets.download as module
from hgcn.data.datasets.download import cache_folder, download
from hgcn.errors import DataError
from hgcn.locks import locked

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WORKER = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("download", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.download(sys.argv[2], pathlib.Path(sys.argv[3]), sha256=sys.argv[4], progress=False)
"""
QUICK: dict[str, Any] = {"sha256": SHA256, "timeout": 5.0, "wait": 0.0, "progress": False}


class Server(ThreadingHTTPServer):
    """Serves CONTENT at /file; behaviour is set by attributes, and requests are recorded."""

    daemon_threads = True
    ranges = True  # honour Range headers
    drops = 0  # how many answers to break off halfway
    statuses: tuple[int, ...] = ()  # answer with these first
    hang = False  # say nothing after the first bytes
    pause = 0.0  # seconds before an answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str | None] = []
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, asked = self.server, self.headers.get("Range")
        server.asked.append(asked)
        time.sleep(server.pause)
        if self.path != "/file" or server.statuses:
            status, *rest = server.statuses or (404,)
            server.statuses = tuple(rest)
            self.send_error(status)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if start >= len(CONTENT) and server.ranges:
            self.send_error(416)
            return
        partial = bool(asked) and server.ranges
        body = CONTENT[start:] if partial else CONTENT
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if server.hang:
            self.wfile.write(body[:1000])
            self.wfile.flush()
            server.release.wait(20)
        elif server.drops:
            server.drops -= 1
            self.wfile.write(body[: len(body) // 2])
        else:
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.release.set()
        made.shutdown()
        thread.join()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}


def test_brings_the_file_and_leaves_nothing_else(server: Server, tmp_path: Path) -> None:
    path = download(server.url, tmp_path / "new" / "file", **QUICK)
    assert path.read_bytes() == CONTENT
    assert files(path.parent) == {"file"}


def test_does_not_ask_for_what_is_there(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        download(server.url, tmp_path / "file", **QUICK)
    assert server.asked == [None]


def test_replaces_a_damaged_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(CONTENT[:-1] + b"?")
    assert download(server.url, tmp_path / "file", **QUICK).read_bytes() == CONTENT


def test_goes_on_where_the_line_broke(server: Server, tmp_path: Path) -> None:
    server.drops = 2
    assert download(server.url, tmp_path / "file", **QUICK).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=150000-", "bytes=225000-"]


def test_goes_on_in_a_later_call(server: Server, tmp_path: Path) -> None:
    server.drops = 1
    with pytest.raises(DataError, match=r"150,000 of 300,000 bytes .*150,000 bytes kept"):
        download(server.url, tmp_path / "file", **QUICK, tries=1)
    assert files(tmp_path) == {"file.part"}
    assert download(server.url, tmp_path / "file", **QUICK, tries=1).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=150000-"]
    assert files(tmp_path) == {"file"}


def test_starts_anew_if_the_server_cannot_resume(server: Server, tmp_path: Path) -> None:
    server.ranges, server.drops = False, 1
    assert download(server.url, tmp_path / "file", **QUICK).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=150000-"]


@pytest.mark.parametrize(
    "left", [b"another file", CONTENT, CONTENT + b"more"], ids=["other", "whole", "longer"]
)
def test_a_leftover_part_does_no_harm(server: Server, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "file.part").write_bytes(left)
    assert download(server.url, tmp_path / "file", **QUICK).read_bytes() == CONTENT
    assert files(tmp_path) == {"file"}


def test_a_wrong_checksum_is_refused_and_removed(server: Server, tmp_path: Path) -> None:
    wrong = "0" * 64
    with pytest.raises(DataError, match=f"{server.url} to have SHA-256 {wrong}, got {SHA256}"):
        download(server.url, tmp_path / "file", **(QUICK | {"sha256": wrong}))
    assert files(tmp_path) == set()


def test_a_missing_file_is_an_error_at_once(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="HTTP status 404"):
        download(server.url + "s", tmp_path / "file", **QUICK)
    assert len(server.asked) == 1


def test_tries_again_when_the_server_is_busy(server: Server, tmp_path: Path) -> None:
    server.statuses = (503, 429)
    assert download(server.url, tmp_path / "file", **QUICK).read_bytes() == CONTENT
    assert len(server.asked) == 3


def test_a_hanging_server_is_given_up(server: Server, tmp_path: Path) -> None:
    server.hang = True
    begin = time.monotonic()
    with pytest.raises(DataError, match=r"no answer within 0.2 s \(2 tries, 2,000 bytes kept\)"):
        download(server.url, tmp_path / "file", **(QUICK | {"timeout": 0.2}), tries=2)
    assert time.monotonic() - begin < 5


def test_no_server_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with Server() as made:
        url = made.url
    with pytest.raises(DataError, match=r"Is there a connection\?"):
        download(url, tmp_path / "file", **QUICK, tries=2)


def test_waits_longer_each_time(server: Server, tmp_path: Path) -> None:
    server.statuses = (503, 503)
    begin = time.monotonic()
    download(server.url, tmp_path / "file", **(QUICK | {"wait": 0.1}))
    assert time.monotonic() - begin >= 0.1 + 0.2


def test_a_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    # A file in place of the folder fails for every user; a read-only folder does not for root.
    (tmp_path / "cache").write_text("")
    with pytest.raises(DataError, match=r"write in the folder .*cache.*Set HGCN_CACHE"):
        download(server.url, tmp_path / "cache" / "file", **QUICK)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_named(server: Server, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match=r"Set HGCN_CACHE"):
        download(server.url, tmp_path / "file", **QUICK)


def test_two_processes_share_one_download(server: Server, tmp_path: Path) -> None:
    server.pause = 0.5  # the second process asks while the first is at it
    path = tmp_path / "file"
    # The module by itself, without torch, so that both processes start at once.
    arguments = [module.__file__, server.url, str(path), SHA256]
    command = [sys.executable, "-c", WORKER, *map(str, arguments)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert path.read_bytes() == CONTENT
    assert server.asked == [None]


def test_a_lock_keeps_others_out(tmp_path: Path) -> None:
    order = []

    def other() -> None:
        with locked(tmp_path / "lock"):
            order.append("other")

    with locked(tmp_path / "lock"):
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HGCN_CACHE", "")
    assert cache_folder() == tmp_path / "hgcn"
    monkeypatch.setenv("HGCN_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
