"""What happens when a command is to end early, by Ctrl-C or by SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

INTERRUPTED = 130
"""The exit code after Ctrl-C, as the shell has it; after SIGTERM too, which does the same here."""


@contextlib.contextmanager
def explained(left: Callable[[], str]) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, and say what is left behind if nothing else can.

    Args:
        left: returns a sentence on what there is and how to go on.
    """
    try:
        with _stopped_by_sigterm():
            yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hgcn: interrupted. {left()}\n")
        raise


@contextlib.contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
