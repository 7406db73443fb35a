"""The number of processors, and pools of processes; the same on every operating system."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any


def count_cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux, where a process may be kept to some of them
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_pool(
    workers: int, prepare: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """A pool of new processes with one thread each: more would fight for the processors.

    Processes are spawned, never forked: a fork of a process with threads may hang, and some
    systems cannot fork. Functions that are sent to them must be importable, values picklable.

    Args:
        workers: number of processes.
        prepare: called once in each process.
        arguments: arguments of ``prepare``; locks and events come from :func:`process_context`.
    """
    return ProcessPoolExecutor(
        workers, process_context(), initializer=_start, initargs=(prepare, arguments)
    )


def process_context() -> Any:
    """The context of ``multiprocessing`` that spawns processes."""
    return get_context("spawn")


def _start(prepare: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    _end_with_parent()
    import torch

    torch.set_num_threads(1)
    if prepare is not None:
        prepare(*arguments)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even by ``kill -9``."""
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
