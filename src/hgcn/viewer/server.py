"""A page served to this computer only."""

from __future__ import annotations

import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from hgcn.errors import DataError

_ADDRESS = "127.0.0.1"


def serve(path: str | Path, *, port: int = 0, open_browser: bool = True) -> None:
    """Serve a page at http://127.0.0.1 until interrupted; no other computer can reach it.

    Args:
        path: a page that :func:`hgcn.viewer.write_page` wrote.
        port: the port to listen on; 0 takes a free one.
        open_browser: whether to show the page at once.
    """
    with page_server(path, port=port) as server:
        address = f"http://{_ADDRESS}:{server.server_port}/"
        print(f"Serving {path} at {address} (Ctrl+C stops)", flush=True)
        if open_browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.")


def page_server(path: str | Path, *, port: int = 0) -> ThreadingHTTPServer:
    """A server of one file, bound to the loopback address."""
    page = Path(path)
    if not page.is_file():
        raise DataError(f"Expected a page at {page}, found no such file.")

    class Handler(BaseHTTPRequestHandler):
        server_version = "hgcn"
        sys_version = ""

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, *, body: bool) -> None:
            # A foreign name that resolves to this computer (DNS rebinding) must not read the page.
            assert isinstance(self.server, ThreadingHTTPServer)  # nosec B101  # for mypy alone
            here = {f"{name}:{self.server.server_port}" for name in (_ADDRESS, "localhost")}
            if self.headers.get("Host") not in here:
                self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
                return
            if self.path.split("?")[0] != "/":
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            data = page.read_bytes()
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
        return ThreadingHTTPServer((_ADDRESS, port), Handler)
    except OSError as error:
        raise DataError(
            f"Expected port {port} to be free, got: {error.strerror}. Use port=0 for any."
        ) from error
