"""What happens when a command is to end early, by Ctrl-C or by SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C, as the shell has it; after SIGTERM too, which does the same here."""

AGAIN = 0.01
"""Seconds after which a signal is heard again that came at a bad moment."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt, but only where that does no harm."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    before = {
        number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def explained(left: Callable[[], str]) -> Iterator[None]:
    """Say what an interruption leaves behind.

    Args:
        left: returns a sentence on what there is and how to go on.
    """
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hgcn: interrupted. {left()}\n")
        raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or try again a little later."""
    while frame is not None:
        if _is_delicate(PurePath(frame.f_code.co_filename)):
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _is_delicate(code: PurePath) -> bool:
    """Whether an exception may be lost in a file of Python code, or end the process.

    Callbacks of Python's import system and of weak references lose it. Compiled code that calls
    Numba's own functions, to make an array of its result, does not expect it, and neither does
    Polars while it asks for the name of a type.
    """
    return (
        code.name.startswith("<frozen importlib")
        or code.name in ("weak.py", "weakref.py", "_weakrefset.py")
        or not {"numba", "polars"}.isdisjoint(code.parts)
    )
