"""Signals that wait until a step of training is complete."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class Held:
    """Signals that wait; a call lets the first of them in.

    Args:
        handlers: what each signal is to do.
        patient: whether a second signal waits too.
    """

    def __init__(self, handlers: Mapping[int, Handler], *, patient: bool) -> None:
        self.handlers, self.patient = handlers, patient
        self.waiting: list[int] = []

    def hold(self, number: int, frame: FrameType | None) -> None:
        """Take a signal that has come."""
        if self.waiting and not self.patient:
            self.handlers[number](number, frame)
        self.waiting.append(number)

    def __call__(self) -> None:
        """Let the first signal in that waits."""
        if self.waiting:
            number = self.waiting[0]
            self.waiting.clear()
            self.handlers[number](number, None)


@contextlib.contextmanager
def held_signals(*, patient: bool = False) -> Iterator[Held]:
    """Hold SIGINT and SIGTERM back until what is returned is called.

    A signal may raise an exception anywhere. Callbacks of torch lose it, and compiled code does not
    expect it: it has ended a process. A second signal does not wait. A signal without a handler in
    Python, as SIGTERM is in most programs, is left as it is.

    Args:
        patient: let a second signal wait too: torchrun sends one after that of the terminal, and
            kills who does not end.

    Example:
        >>> with held_signals() as let_in:
        ...     let_in()
    """
    if threading.current_thread() is not threading.main_thread():
        yield Held({}, patient=patient)  # only the main thread hears signals
        return

    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {int(number): handler for number, handler in found.items() if callable(handler)}
    let_in = Held(handlers, patient=patient)
    for number in handlers:
        signal.signal(number, let_in.hold)
    try:
        yield let_in
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        let_in()
