"""A page served to this computer only."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hgcn.errors import DataError

_ADDRESS = "127.0.0.1"
SILENCE = 5.0
"""Seconds that a client may say nothing, or take nothing of the page."""
PATIENCE = 30.0
"""Seconds that a request may take in all; a page of 100 MB takes one."""
MOST_CLIENTS = 32
"""Connections at a time, each with a thread; a browser opens six."""
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def serve(path: str | Path, *, port: int = 0, open_browser: bool = True) -> None:
    """Serve a page at http://127.0.0.1 until interrupted; no other computer can reach it.

    See :func:`hgcn.viewer.render_page` for how a page is made.

    Args:
        path: a page that :func:`hgcn.viewer.write_page` wrote.
        port: the port to listen on; 0 takes a free one.
        open_browser: whether to show the page at once.
    """
    with page_server(path, port=port) as server, _terminated_as_interrupted():
        address = f"http://{_ADDRESS}:{server.server_port}/"
        try:
            print(f"Serving {path} at {address} (Ctrl+C stops)", flush=True)
            if open_browser:
                webbrowser.open(address)
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.")


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end the server as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return

    def interrupt(*received: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


class PageServer(ThreadingHTTPServer):
    """A server with a bounded number of clients, each of which has a bounded time."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        # The sockets of the clients, and when they connected.
        self._clients: dict[Any, float] = {}
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if there are not too many."""
        with self._lock:
            free = len(self._clients) < MOST_CLIENTS
            if free:
                self._clients[request] = time.monotonic()
        if free:
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.setblocking(False)
            request.send(_BUSY)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End requests that take too long; called twice a second."""
        with self._lock:
            for request, start in self._clients.items():
                if time.monotonic() - start > PATIENCE:
                    # The thread that reads or writes there wakes up, and closes the connection.
                    with contextlib.suppress(OSError):
                        request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that left or fell silent."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def page_server(path: str | Path, *, port: int = 0) -> PageServer:
    """A server of one file, bound to the loopback address."""
    page = Path(path)
    if not page.is_file():
        raise DataError(f"Expected a page at {page}, found no such file.")

    class Handler(BaseHTTPRequestHandler):
        server_version = "hgcn"
        sys_version = ""
        timeout = SILENCE

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, *, body: bool) -> None:
            # A foreign name that resolves to this computer (DNS rebinding) must not read the page.
            number = self.connection.getsockname()[1]
            here = {f"{name}:{number}" for name in (_ADDRESS, "localhost")}
            if self.headers.get("Host") not in here:
                self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
                return
            try:
                found = self.path.split("?")[0] == "/"
                data = page.read_bytes() if found else b""
            except OSError:  # the page was removed or replaced meanwhile
                found = False
            if not found:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Print no line for a request."""

    try:
        return PageServer((_ADDRESS, port), Handler)
    except OSError as error:
        raise DataError(
            f"Expected port {port} to be free, got: {error.strerror}. Use port=0 for any."
        ) from error
