"""Time of calls that take turns, and peak memory of a call in a process of its own."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Samples = NDArray[np.float64]


def set_threads(count: int) -> None:
    torch.set_num_threads(count)


def clock() -> float:
    """Seconds of processor time on one thread, where other programs do not count; else of the wall.

    On an idle machine the two are the same for one thread.
    """
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def take_turns(
    calls: Mapping[str, Callable[[], Any]], *, seconds: float, fewest: int = 5, most: int = 200
) -> dict[str, Samples]:
    """Seconds of each call, one of each in every round, so that a slow moment meets all of them.

    The order is another one in each round, as a call leaves the caches to the next. A round that
    does not count comes first: it compiles kernels and sorts edges. A call that would take most of
    the time budget joins three rounds only.
    """
    for call in calls.values():
        call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    shuffled, order = random.Random(0), list(calls)
    end = time.perf_counter() + seconds
    for turn in range(most):
        if turn >= fewest and time.perf_counter() > end:
            break
        if turn == 3:
            order = [name for name in order if fewest * samples[name][0] < seconds] or order
        shuffled.shuffle(order)
        for name in order:
            start = clock()
            calls[name]()
            samples[name].append(clock() - start)
    return {name: np.array(values) for name, values in samples.items()}


def ratios(values: Samples, others: Samples) -> Samples:
    """Of times in the same round."""
    rounds = min(len(values), len(others))
    return values[:rounds] / others[:rounds]


def spread(samples: Samples, factor: float, digits: int = 2) -> str:
    """Median and, in brackets, the first and the third quartile."""
    low, middle, high = np.percentile(samples, (25, 50, 75)) * factor
    return f"{number(middle, digits)} ({number(low, digits)} to {number(high, digits)})"


def number(value: float, digits: int = 2) -> str:
    """With so many digits, and none after the point from 100 on."""
    if value == 0:
        return "0"
    return f"{value:,.{max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))}f}"


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the straight line through the points on logarithmic axes."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def peak_memory(
    function: Callable[..., Callable[[], Any]], jobs: Sequence[Sequence[object]], *, at_once: int
) -> list[float]:
    """For each job the bytes that the call from ``function(*job)`` takes beyond what was there.

    Each in a fresh process, as memory that a process gave back stays with its allocator.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(at_once, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(_peak_here, repeat(function), jobs))


def _peak_here(function: Callable[..., Callable[[], Any]], job: Sequence[object]) -> float:
    set_threads(1)
    call = function(*job)
    before = _reset_peak()
    call()
    return max(_peak() - before, 0.0)


def _reset_peak() -> float:
    """Forget the highest use of memory so far, where the system can; returns what counts from.

    Memory that was freed goes back to the system first; else a call would take it for nothing.
    """
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # a C library other than GNU's
            ctypes.CDLL(None).malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return _peak()
        status = Path("/proc/self/status").read_text()
        return 1024.0 * int(status.split("VmRSS:")[1].split()[0])
    return _peak()


def _peak() -> float:
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        return 1024.0 * int(status.split("VmHWM:")[1].split()[0])
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # in bytes on macOS
