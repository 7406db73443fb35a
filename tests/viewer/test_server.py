"""The server of a page against clients that are slow, many, rude or gone."""

import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from hgcn.viewer import server as module
from hgcn.viewer.server import page_server

PAGE = b"<html>" + b"x" * 3_000_000


@pytest.fixture
def serving(tmp_path, monkeypatch):
    """A running server with short patience."""
    monkeypatch.setattr(module, "SILENCE", 0.5)
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    monkeypatch.setattr(module, "MOST_CLIENTS", 4)
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    before = threading.active_count()
    with page_server(path) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
    wait_until(lambda: threading.active_count() <= before)


def wait_until(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def connect(server):
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=5)


def get(server):
    address = f"http://127.0.0.1:{server.server_port}/"
    with urllib.request.urlopen(address, timeout=5) as answer:
        return answer.read()


def is_closed(client):
    """Whether the other side has closed, once all that it sent is read."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_a_silent_client_is_left(serving):
    start = time.monotonic()
    with connect(serving) as client:
        assert is_closed(client)
    assert time.monotonic() - start < 3
    assert get(serving) == PAGE


def test_a_client_that_drips_is_left(serving):
    start = time.monotonic()
    with connect(serving) as client:
        try:
            for letter in b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50:
                client.sendall(bytes([letter]))
                time.sleep(0.1)
        except ConnectionError:
            pass
        else:
            pytest.fail("the server waited for more than ten seconds")
    assert 1 < time.monotonic() - start < 5


def test_a_client_that_takes_nothing_is_left(serving, capfd):
    with connect(serving) as client:
        host = f"127.0.0.1:{serving.server_port}"
        client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        wait_until(lambda: not serving._clients)
        assert get(serving) == PAGE
    assert capfd.readouterr().err == ""


def test_clients_are_bounded(serving):
    clients = [connect(serving) for _ in range(4)]
    wait_until(lambda: len(serving._clients) == 4)
    before = threading.active_count()
    with pytest.raises((urllib.error.HTTPError, ConnectionError)) as refused:
        get(serving)
    if isinstance(refused.value, urllib.error.HTTPError):
        assert refused.value.code == 503
        refused.value.close()
    assert threading.active_count() <= before
    for client in clients:
        client.close()
    wait_until(lambda: not serving._clients)
    assert get(serving) == PAGE


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"\r\n", b"\x16\x03\x01\x02\x00", b"GET /", b"GET / HTTP/9.9\r\n\r\n",
        b"BREW / HTTP/1.1\r\n\r\n",
        b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200,
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
)  # fmt: skip
def test_rude_clients_leave_no_trace(sent, serving, capfd):
    with connect(serving) as client:
        client.sendall(sent)
        # A reset in place of an orderly end.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wait_until(lambda: not serving._clients)
    assert get(serving) == PAGE
    assert capfd.readouterr().err == ""


def test_clients_that_leave_in_the_middle_leave_no_trace(serving, capfd):
    host = f"127.0.0.1:{serving.server_port}"
    for _ in range(3):
        with connect(serving) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            client.recv(100)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wait_until(lambda: not serving._clients)
    assert get(serving) == PAGE
    assert capfd.readouterr().err == ""


def test_a_page_that_is_gone(serving, tmp_path, capfd):
    (tmp_path / "page.html").unlink()
    with pytest.raises(urllib.error.HTTPError) as answer:
        get(serving)
    assert answer.value.code == 404
    answer.value.close()
    assert capfd.readouterr().err == ""


def test_a_signal_ends_the_server(tmp_path):
    (tmp_path / "page.html").write_bytes(PAGE)
    code = "import sys; from hgcn.viewer import serve; serve(sys.argv[1], open_browser=False)"
    command = [sys.executable, "-c", code, str(tmp_path / "page.html")]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for one, number in zip(started, (signal.SIGINT, signal.SIGTERM), strict=True):
        with one:
            port = int(one.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
            with socket.create_connection(("127.0.0.1", port)):  # a client that says nothing
                one.send_signal(number)
                out, err = one.communicate(timeout=20)
        assert (one.returncode, out, err) == (0, "Stopped.\n", "")
