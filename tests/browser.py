"""A headless Chromium driven through its debugging pipe, with the standard library only."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    # Small shared memory in containers.
    "--disable-dev-shm-usage",
)

# Keys to which the browser itself responds.
KEY_CODES = {"Escape": 27, "Enter": 13}
# WebGL in software, as a test machine has no graphics card.
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NO_WEBGL = ("--disable-gpu", "--disable-software-rasterizer")


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser process; :meth:`open` gives a page of it."""

    def __init__(self, *, webgl: bool = False) -> None:
        program = find_browser()
        assert program is not None
        self.folder = tempfile.TemporaryDirectory(
            prefix="hgcn-browser-", ignore_cleanup_errors=True
        )
        (to_read, self._out), (self._in, to_write) = os.pipe(), os.pipe()

        def place() -> None:
            # The browser reads commands from 3 and writes answers to 4.
            os.dup2(os.dup(to_read), 3)
            os.dup2(os.dup(to_write), 4)

        # Chromium refuses its sandbox to root, and containers often run as root.
        sandbox = ("--no-sandbox",) if os.getuid() == 0 else ()
        # The ends may themselves be 3 or 4, so copies with high numbers are handed on.
        high_read, high_write = _high(to_read), _high(to_write)
        to_read, to_write = high_read, high_write
        self.process = subprocess.Popen(
            [
                program,
                *FLAGS,
                *sandbox,
                *(WEBGL if webgl else NO_WEBGL),
                f"--user-data-dir={self.folder.name}",
            ],
            preexec_fn=place,  # noqa: PLW1509 (no other thread holds a lock here)
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._events: list[dict] = []

    def close(self) -> None:
        with contextlib.suppress(OSError, TimeoutError, EOFError):
            self.call("Browser.close", timeout=5)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._out)
        os.close(self._in)
        self.folder.cleanup()

    def call(self, method: str, session: str | None = None, timeout: float = 60, **params) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + timeout
        while True:
            answer = self._read(end - time.monotonic())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._events.append(answer)

    def events(self, session: str) -> list[dict]:
        """Events of one page so far."""
        return [event for event in self._events if event.get("sessionId") == session]

    def _read(self, timeout: float) -> dict:
        end = time.monotonic() + timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser did not answer in time")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise EOFError("the browser has gone")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, address: str | Path, *, size: tuple[int, int] = (1280, 800), **media) -> Page:
        if isinstance(address, Path):
            address = address.resolve().as_uri()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(*size, **media)
        page.call("Page.navigate", url=address)
        page.wait("document.readyState === 'complete'")
        return page


def _high(descriptor: int) -> int:
    import fcntl

    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 50)
    os.set_inheritable(copy, True)
    os.close(descriptor)
    return copy


class Page:
    """A tab: evaluates JavaScript and plays a user with mouse, fingers and keys."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self.browser, self.target, self.session = browser, target, session

    def call(self, method: str, **params) -> dict:
        return self.browser.call(method, self.session, **params)

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def resize(
        self,
        width: int,
        height: int,
        *,
        ratio: float = 1,
        dark: bool = False,
        touch: bool = False,
        calm: bool = True,
    ) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=ratio,
            mobile=touch,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if calm else "no-preference",
        }
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )

    def eval(self, script: str):
        """Value of an expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.eval(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never came true: {condition}")
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until nothing moves any more."""
        self.eval("""new Promise(done => {
            const look = () => window.hgcn.busy() ? requestAnimationFrame(look) : done();
            look();
        })""")

    def mouse(self, kind: str, x: float, y: float, **more) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float, times: int = 1, modifiers: int = 0) -> None:
        self.mouse("mouseMoved", x, y)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=count, modifiers=modifiers)

    def drag(self, path: list[tuple[float, float]]) -> None:
        self.mouse("mouseMoved", *path[0])
        self.mouse("mousePressed", *path[0], button="left", clickCount=1)
        for x, y in path[1:]:
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *path[-1], button="left", clickCount=1)

    def wheel(self, x: float, y: float, amount: float, modifiers: int = 0) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=amount, modifiers=modifiers)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    def key(self, key: str, text: str = "") -> None:
        extra = {"text": text} if text else {}
        if key in KEY_CODES:
            extra["windowsVirtualKeyCode"] = KEY_CODES[key]
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def element(self, selector: str) -> tuple[float, float]:
        """Centre of an element on the screen."""
        return tuple(
            self.eval(
                f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                "e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
            )
        )

    def text(self, selector: str) -> str:
        return self.eval(f"document.querySelector({json.dumps(selector)}).textContent")

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def problems(self) -> list[str]:
        """Exceptions, console errors and network requests so far."""
        found = []
        for event in self.browser.events(self.session):
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
        return found
