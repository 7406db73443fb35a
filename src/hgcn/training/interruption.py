"""Signals that wait until a step of training is complete."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def held_signals() -> Iterator[Callable[[], None]]:
    """Hold SIGINT and SIGTERM back until the function that is returned is called.

    A signal may raise an exception anywhere. Callbacks of torch lose it, and compiled code does not
    expect it: it has ended a process. A second signal does not wait. A signal without a handler in
    Python, as SIGTERM is in most programs, is left as it is.

    Example:
        >>> with held_signals() as let_in:
        ...     let_in()
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # only the main thread hears signals
        return

    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    waiting: list[signal.Signals] = []

    def hold(number: int, frame: FrameType | None) -> None:
        if waiting:
            handlers[signal.Signals(number)](number, frame)
        waiting.append(signal.Signals(number))

    def let_in() -> None:
        if waiting:
            number = waiting[0]
            waiting.clear()
            handlers[number](number, None)

    for number in handlers:
        signal.signal(number, hold)
    try:
        yield let_in
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        let_in()
