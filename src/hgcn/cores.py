"""The number of processors, and processes that use them; the same on every operating system."""

from __future__ import annotations

import contextlib
import math
import mmap
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection
from typing import Any

from hgcn.errors import ConfigError


def count_cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux, where a process may be kept to some of them
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


SPARE = 256 << 20
"""Bytes of memory that polars, with its threads, may need before it reads anything."""


def check_spare() -> None:
    """Raise MemoryError if next to no memory is left.

    Without it polars ends the process, or waits without end for threads that it could not start.
    """
    try:
        mmap.mmap(-1, SPARE).close()
    except OSError as error:
        raise MemoryError("There is next to no memory left.") from error


@contextlib.contextmanager
def worker_pool(
    workers: int, prepare: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes with one thread each: more would fight for the processors.

    Processes are spawned, never forked: a fork of a process with threads may hang, and some
    systems cannot fork. Functions that are sent to them must be importable, values picklable.
    They do not hear Ctrl-C, which ends them by way of this process.

    Args:
        workers: number of processes.
        prepare: called once in each process.
        arguments: arguments of ``prepare``; locks and events come from :func:`process_context`.
    """
    before = multiprocessing.active_children()
    with ProcessPoolExecutor(
        workers, process_context(), initializer=_start, initargs=(prepare, arguments)
    ) as pool:
        try:
            yield pool
        except (KeyboardInterrupt, GeneratorExit):
            # A pool can only wait for its jobs, perhaps for hours, unless its processes are gone.
            for process in multiprocessing.active_children():
                if process not in before:
                    process.kill()
            raise


def process_context() -> Any:
    """The context of ``multiprocessing`` that spawns processes."""
    return multiprocessing.get_context("spawn")


def become_worker() -> None:
    """Make this process one that works for another: with one thread, and no end of its own.

    Signals are for the process that started it, and whose end is its own, even by ``kill -9``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    import torch

    torch.set_num_threads(1)


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Ignore Ctrl-C here, and in processes that are started now for as long as they live."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    become_worker()
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def wait() -> None:
        connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def seconds_from(variable: str, usual: float) -> float:
    """The seconds that a variable of the environment says; the usual ones if it is not set."""
    text = os.environ.get(variable)
    if text is None:
        return usual
    with contextlib.suppress(ValueError):
        if 0 <= (seconds := float(text)) < math.inf:
            return seconds
    raise ConfigError(f"Expected {variable} to be a number of seconds, 0 or more, got {text!r}.")
