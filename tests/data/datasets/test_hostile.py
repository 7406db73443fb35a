"""Data folders, downloads and pickles that are made to do harm."""

import hashlib
import json
import os
import pickle
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hgcn.data.datasets.download as module
from hgcn.data import Dataset, load
from hgcn.data.datasets import table
from hgcn.data.datasets.download import download
from hgcn.data.datasets.released import parse
from hgcn.data.datasets.unpickle import load_pickle
from hgcn.errors import DataError

# Downloads: a server that sends whatever it is told, byte for byte.

BODY = b"x" * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Raw:
    """A server that answers each connection with the same bytes, and may send them slowly."""

    def __init__(self, answer: bytes, pause: float = 0.0, size: int = 1 << 16) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/file"
        self.answer, self.pause, self.size = answer, pause, size
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._send, args=(connection,), daemon=True).start()

    def _send(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(1 << 16)
                for start in range(0, len(self.answer), self.size):
                    connection.sendall(self.answer[start : start + self.size])
                    time.sleep(self.pause)
            except OSError:  # the client has left
                pass


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    servers: list[Raw] = []

    def start(head: str, body: bytes = BODY, **options: Any) -> str:
        answer = f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode("latin-1") + body
        servers.append(Raw(answer, **options))
        return servers[-1].url

    yield start
    for server in servers:
        server.listener.close()


def fetch(url: str, folder: Path, **options: Any) -> Path:
    settings = {"sha256": SHA256, "timeout": 5.0, "wait": 0.0, "tries": 2, "progress": False}
    return download(url, folder / "file", **(settings | options))


@pytest.mark.parametrize(
    "length", ["abc", "-5", "", " ", "1e3", "\xb2", "9" * 5000, "1000, 1000", "0x3e8"]
)
def test_a_length_that_is_no_number_is_as_good_as_none(
    length: str, serve: Callable[..., str], tmp_path: Path
) -> None:
    url = serve(f"200 OK\r\nContent-Length: {length}")
    assert fetch(url, tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("length", ["5", "999999999999999999"])
def test_a_length_that_lies_is_found_out(
    length: str, serve: Callable[..., str], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="127.0.0.1"):
        fetch(serve(f"200 OK\r\nContent-Length: {length}"), tmp_path)


@pytest.mark.parametrize("start", ["9" * 5000, "\xb2", "-1", "abc"])
def test_a_range_that_is_none_starts_anew(
    start: str, serve: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "file.part").write_bytes(BODY[:10])
    url = serve(f"206 Partial Content\r\nContent-Range: bytes {start}-999/1000")
    assert fetch(url, tmp_path).read_bytes() == BODY


def test_a_download_without_end_is_stopped_and_removed(
    serve: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    with pytest.raises(DataError, match="at most 1,048,576 bytes"):
        fetch(serve("200 OK", b"x" * (8 << 20)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]


def test_a_server_that_drips_is_left(serve: Callable[..., str], tmp_path: Path) -> None:
    url = serve("200 OK\r\nContent-Length: 1000", pause=0.02, size=1)
    start = time.monotonic()
    with pytest.raises(DataError, match=r"only \d+ bytes in 0.5 s"):
        fetch(url, tmp_path, timeout=0.5)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    "answer", ["200", "999 \xff", "OK", "200 OK\r\n" + "X: y\r\n" * 200, "200 OK\r\n: \r\n\0"]
)
def test_nonsense_is_an_error_or_the_file(
    answer: str, serve: Callable[..., str], tmp_path: Path
) -> None:
    try:
        assert fetch(serve(answer), tmp_path).read_bytes() == BODY
    except DataError as error:
        assert "127.0.0.1" in str(error)


# Pickles.


def nested(levels: int) -> bytes:
    """A list of two lists, which are the same, of two lists, and so on."""
    return b"\x80\x02" + b"]q\x00" + b"".join(
        b"]q" + bytes([at + 1]) + b"(h" + bytes([at]) + b"h" + bytes([at]) + b"e"
        for at in range(levels)
    ) + b"."


PICKLES = {
    "bytes of a terabyte": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "text of a terabyte": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.",
    "an array of a terabyte": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x.",
    "a long number": b"L" + b"9" * 100_000 + b"L\n.",
    "a set of tuples": b"\x80\x04\x8f(K\x01\x90.",
    "a registered name": b"\x80\x02\x82\x01.",
    "a persistent id": b"Px\n.",
    "a key of a tuple": b"\x80\x02}K\x01K\x02\x86K\x01s.",
    "keys of tuples": b"\x80\x02}(K\x01K\x02\x86K\x01u.",
    "a dict of tuples": b"\x80\x02(K\x01K\x02\x86K\x01d.",
    "deep lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "nothing": b"",
    "no pickle": b"hello",
}


@pytest.mark.parametrize("name", PICKLES)
def test_a_hostile_pickle_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.pickle"
    path.write_bytes(PICKLES[name])
    start = time.monotonic()
    with pytest.raises(DataError, match="bad.pickle: cannot be read as an old pickle"):
        load_pickle(path)
    assert time.monotonic() - start < 5


def test_ten_bytes_do_not_ask_for_gigabytes(tmp_path: Path) -> None:
    """The unpickler in C would make room for 2 ** 31 objects, or for a frame of a terabyte."""
    path = tmp_path / "memo.pickle"
    path.write_bytes(b"\x80\x02]r\xff\xff\xff\x7f.")
    assert load_pickle(path) == []
    path.write_bytes(b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"N.")
    assert load_pickle(path) is None


def test_what_occurs_often_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "nested.pickle"
    path.write_bytes(nested(60))
    found = load_pickle(path)  # 2 ** 60 lists, if each were made anew
    for _ in range(60):
        found = found[0]
    assert found == []


@pytest.mark.parametrize("name", ["cora", "airport", "disease_lp", "email_enron", "twitch"])
@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"[" * 5000, pickle.dumps([{}]), b"1e400\n"])
def test_raw_files_that_are_others(name: str, content: bytes, tmp_path: Path) -> None:
    from hgcn.data.datasets.table import SOURCES

    listed = SOURCES.read_text()
    for line in listed.splitlines():
        if line.startswith('"'):
            (tmp_path / line.split('"')[1].rsplit("/", 1)[-1]).write_bytes(content)
    with pytest.raises(DataError):
        parse(name, tmp_path)


# Folders of data, as HGCN_DATA has them.

ENTRY = Dataset(
    "isles", "three graphs of two nodes", 6, 3, 2, 2, 3, folder="isles",
    columns={"gene": "genes.npy"}, ids=("graph", "gene"), class_names=("a", "b"),
)  # fmt: skip
GOOD: dict[str, Any] = {
    "edges.csv": "source,target\n0,1\n2,3\n4,5\n",
    "features.npy": np.ones((6, 2)),
    "labels.npy": np.array([0, 1, 0, 1, 0, 1]),
    "graph_ids.npy": np.array([0, 0, 1, 1, 2, 2]),
    "genes.npy": np.array([7, 8, 7, 8, 7, 8]),
    "split.json": json.dumps({"train_graphs": [0], "val_graphs": [1], "test_graphs": [2]}),
}


@pytest.fixture
def isles(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HGCN_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(table.DATASETS._entries, "isles", ENTRY)
    folder = tmp_path / "data" / "isles"
    folder.mkdir(parents=True)
    for name, content in GOOD.items():
        put(folder / name, content)
    return folder


def put(path: Path, content: Any) -> None:
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_the_folder_itself_is_good(isles: Path) -> None:
    assert load("isles").num_graphs == 3


DAMAGED: dict[str, tuple[str, Any]] = {
    "labels of one class": ("labels.npy", np.zeros(6, int)),
    "labels of three classes": ("labels.npy", np.array([0, 1, 2, 0, 1, 2])),
    "one label": ("labels.npy", np.array(1)),
    "one feature": ("features.npy", np.array(1.0)),
    "one graph id": ("graph_ids.npy", np.array(1)),
    "a gene too few": ("genes.npy", np.arange(5)),
    "genes in rows": ("genes.npy", np.ones((6, 2))),
    "one gene": ("genes.npy", np.array(3)),
    "the same gene": ("genes.npy", np.zeros(6)),
    "no genes": ("genes.npy", np.full(6, np.nan)),
    "an edge twice as many": ("edges.csv", "source,target\n0,1\n2,3\n4,5\n1,0\n0,9\n"),
    "graphs that are not there": ("split.json", '{"train_graphs": [7]}'),
    **{f"{name} of nothing": (name, b"") for name in GOOD},
    **{f"{name} of zeros": (name, b"\0" * 64) for name in GOOD},
    **{f"{name} of brackets": (name, b"[" * 5000) for name in GOOD},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_data_are_refused(name: str, isles: Path) -> None:
    file, content = DAMAGED[name]
    put(isles / file, content)
    with pytest.raises(DataError) as caught:
        load("isles")
    assert "isles" in str(caught.value)


@pytest.mark.parametrize("file", ["features.npy", "labels.npy", "genes.npy"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_pipes_folders_and_devices_are_not_opened(
    file: str, make: Callable[[Path], Any], isles: Path
) -> None:
    (isles / file).unlink()
    make(isles / file)
    with pytest.raises(DataError):
        load("isles")


@pytest.mark.parametrize("place", ["file", "pipe", "nothing", "loop", "~nobody-here", "x" * 300])
def test_a_data_folder_that_is_none(
    place: str, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(empty, ignore_errors=True)
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    own = place if place.startswith("~") else str(tmp_path / place)
    monkeypatch.setenv("HGCN_DATA", own)
    with pytest.raises(DataError, match="HGCN_DATA to be a folder"):
        load("cora")
