"""Processes that train one run after the other and tell how far they are."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from hgcn.cores import become_worker, deaf, process_context
from hgcn.errors import explain
from hgcn.training.loop import Progress

EPOCH_SECONDS = 0.1
"""A process tells of its epochs so often, and no oftener."""
LOOK_SECONDS = 1.0
"""Some systems hear Ctrl-C only between two waits."""


@dataclass(frozen=True)
class Job:
    """One call of a function in a process of its own.

    Attributes:
        key: what the caller knows it by.
        function: an importable function; it gets a callback for epochs and then the arguments.
        arguments: picklable arguments.
    """

    key: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Event:
    """Something that a process tells.

    Attributes:
        key: the job that it is about.
        kind: "started", "epoch" (a :class:`~hgcn.training.loop.Progress`), "log" or "warning" (a
            text), and at the end either "done" (the result) or "failed" (what was wrong, a text).
        value: as the kind says.
    """

    key: int
    kind: str
    value: Any = None


def work(jobs: Iterable[Job], processes: int) -> Iterator[Event]:
    """Do jobs in parallel processes, and tell what happens in them.

    A job that fails, or whose process dies, leaves the others alone. When the iteration ends, by an
    error, by Ctrl-C or because nobody goes on with it, the processes are killed.
    """
    queue = deque(jobs)
    busy: dict[Any, _Worker] = {}
    idle: list[_Worker] = []
    try:
        while queue or busy:
            while queue and len(busy) < processes:
                worker = idle.pop() if idle else _Worker()
                worker.begin(queue.popleft())
                busy[worker.pipe] = worker
                yield Event(worker.key, "started")
            for pipe in connection.wait(list(busy), timeout=LOOK_SECONDS):
                worker = busy[pipe]
                event = worker.hear()
                if event.kind in ("done", "failed"):
                    del busy[pipe]
                    if worker.process.is_alive():
                        idle.append(worker)
                yield event
    finally:
        for worker in (*busy.values(), *idle):
            worker.process.kill()
        for worker in (*busy.values(), *idle):
            worker.process.join()


class _Worker:
    """A process, seen from the one that started it."""

    def __init__(self) -> None:
        context = process_context()
        self.pipe, other_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(other_end,), daemon=True)
        with deaf():
            self.process.start()
        other_end.close()
        self.key = -1

    def begin(self, job: Job) -> None:
        self.key = job.key
        with contextlib.suppress(OSError):  # of a process that has died, as its silence will tell
            self.pipe.send(job)

    def hear(self) -> Event:
        try:
            event: Event = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return Event(self.key, "failed", _death(self.process.exitcode))
        return event


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        why = f"was killed ({signal.Signals(-code).name})"
        if -code == getattr(signal, "SIGKILL", None):
            why += ", perhaps for want of memory"
    else:
        why = f"ended with exit code {code}"
    return f"Its process {why}."


def _serve(pipe: Any) -> None:
    """Do the jobs that come through a pipe, until it is closed."""
    become_worker()
    while True:
        try:
            job: Job = pipe.recv()
        except EOFError:
            return
        _do(job, pipe)


def _do(job: Job, pipe: Any) -> None:
    last = 0.0

    def tell(kind: str, value: Any) -> None:
        try:
            pipe.send(Event(job.key, kind, value))
        except OSError:
            os._exit(1)  # nobody is left to work for

    def on_epoch(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EPOCH_SECONDS:
            last = now
            tell("epoch", progress)

    _forward(tell)
    try:
        value = job.function(on_epoch, *job.arguments)
    except Exception as error:
        if os.environ.get("HGCN_TRACEBACK"):
            traceback.print_exc()
        tell("failed", explain(error))
    else:
        tell("done", value)


def _forward(tell: Callable[[str, Any], None]) -> None:
    """Tell of warnings and log lines: written here, they would tear the other process's display."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell("log", record.getMessage())

    logger = logging.getLogger("hgcn")
    logger.handlers, logger.propagate = [Handler()], False
    warnings.showwarning = lambda message, *_rest, **_more: tell("warning", str(message))
