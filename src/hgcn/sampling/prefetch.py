"""Batches made ahead of time, in background threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Made = TypeVar("Made")

AHEAD = 2
"""Batches that wait for training, beside those that are being made."""


def prefetched(
    make: Callable[[int], Made], numbers: Iterable[int], *, workers: int
) -> Iterator[Made]:
    """The result of ``make`` for each number, in order, made in the background.

    As each result depends on its number alone, the number of workers does not change any. At most
    ``workers + AHEAD`` results are held. An error in a worker is raised here, at the turn of its
    number. When the iterator is closed, nothing more is begun, and all threads end.

    Args:
        make: makes a result.
        numbers: what it is asked for.
        workers: number of threads; 0 makes each result when it is asked for.

    Example:
        >>> list(prefetched(lambda k: k * k, range(4), workers=2))
        [0, 1, 4, 9]
    """
    if not workers:
        yield from map(make, numbers)
        return
    left = iter(numbers)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="hgcn-batches")
    waiting: deque[Future[Made]] = deque()
    try:
        waiting.extend(pool.submit(make, k) for k in islice(left, workers + AHEAD))
        while waiting:
            made = waiting.popleft().result()
            waiting.extend(pool.submit(make, k) for k in islice(left, 1))
            yield made
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
