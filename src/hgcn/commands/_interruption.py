"""What happens when a command is to end early, by Ctrl-C or by SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C, as the shell has it; after SIGTERM too, which does the same here."""

AGAIN = 0.01
"""Seconds after which a signal is heard again that came at a bad moment."""


@contextlib.contextmanager
def explained(left: Callable[[], str]) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, and say what is left behind if nothing else can.

    Args:
        left: returns a sentence on what there is and how to go on.
    """
    try:
        with _stopped_by_sigterm():
            yield
    except (KeyboardInterrupt, SystemError) as error:
        # Compiled code that is called when a signal comes makes a SystemError of it.
        if not isinstance(error.__cause__ or error, KeyboardInterrupt):
            raise
        sys.stderr.write(f"hgcn: interrupted. {left()}\n")
        raise KeyboardInterrupt from error


@contextlib.contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does, but not within the import of a module.

    Callbacks of Python's import system, and compiled modules that are being set up, would lose the
    exception.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt
