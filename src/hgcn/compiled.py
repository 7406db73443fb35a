"""The one door to Numba: the decorator of every compiled function, its cache, and its threads.

Numba keeps compiled code on disk, and throws it away when the file of the function has changed. It
does not notice a change in a helper that comes from another file, or in a constant: old code would
stay in use. The cache here is stamped with a hash of all sources that compiled code is made of.

Nothing happens at import. The cache is opened when a function is called for the first time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import logging
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numba
import torch
from numba.core import caching, event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime.nrt import rtsys

from hgcn.locks import locked

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent

_DECORATOR = re.compile(r"^@compiled\b", re.MULTILINE)
_IMPORT = re.compile(r"^(?:from|import) hgcn\.?([\w.]*)(?: import ([\w, ]+))?", re.MULTILINE)


def compiled(*, inside: bool = False, **options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` with a cache on disk that notices a change in any compiled source.

    Args:
        inside: the function is called by compiled ones alone. The way in from Python, which takes
            as long to compile as the function itself if there are many arrays, is left out.
        options: those of ``numba.njit``, without ``cache``.

    Example:
        >>> @compiled(error_model="numpy")
        ... def half(x: float) -> float:
        ...     return x / 2
    """
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": inside}

    def decorate(function: Function) -> Function:
        _changed_since_import(Path(function.__code__.co_filename))
        dispatcher: Any = numba.njit(**options)(function)
        if hasattr(dispatcher, "_cache"):  # it has none with NUMBA_DISABLE_JIT
            dispatcher._cache = cache = _PackageCache(function)
            dispatcher.compile = cache.one_at_a_time(dispatcher.compile)
        result: Function = dispatcher
        return result

    return decorate


def never_compiled(function: Callable[..., Any]) -> bool:
    """Whether a compiled function will have to be compiled, for this and for later processes."""
    cache = getattr(function, "_cache", None)
    return isinstance(cache, _PackageCache) and cache.is_empty


PIECES = 4
"""Number of calls for each thread, so that one that was kept waiting leaves work to the others."""


def in_chunks(kernel: Callable[..., None], chunks: int, *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` for ranges that together are all chunks.

    As many threads as torch has, or as :func:`fixed_order` says, share them. The kernel is compiled
    with ``nogil``, and what it does to a chunk depends on nothing else.

    Args:
        kernel: a compiled function.
        chunks: their number.
        arguments: further arguments of the kernel.
    """
    threads = min(chunks, _kernel_threads[-1] if _kernel_threads else torch.get_num_threads())
    if threads < 2:
        kernel(0, chunks, *arguments)
        return
    pieces, numbers = min(chunks, PIECES * threads), itertools.count()

    def work() -> None:
        while (piece := next(numbers)) < pieces:
            kernel(chunks * piece // pieces, chunks * (piece + 1) // pieces, *arguments)

    others = [_pool().submit(work) for _ in range(threads - 1)]
    work()
    for other in others:
        if not other.cancel():  # one that has not begun finds nothing left to do
            other.result()


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hgcn")


SMALL = 20_000
"""Up to so many nodes and edges one thread is as fast as several, and disturbs nobody."""

_kernel_threads: list[int] = []


@contextlib.contextmanager
def fixed_order(size: int) -> Iterator[None]:
    """Within this context no result depends on the number of threads.

    torch divides a sum among its threads, and the result depends on how; so it gets one thread.
    Kernels divide their work into chunks whatever the number of threads: they keep as many as torch
    had, if there is enough to do.

    Args:
        size: number of nodes and edges of the graph.
    """
    threads = torch.get_num_threads()
    most = _kernel_threads[-1] if _kernel_threads else threads
    _kernel_threads.append(most if size > SMALL else 1)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _kernel_threads.pop()
        torch.set_num_threads(threads)


@contextlib.contextmanager
def compile_timer() -> Iterator[Callable[[], float]]:
    """A function that tells how many seconds of this context were spent on compiling."""
    listener: Any = event.TimingListener()  # type: ignore[no-untyped-call]
    with event.install_listener("numba:compile", listener):
        yield lambda: listener.duration if listener.done else 0.0


def compiled_sources(package: Path = PACKAGE) -> list[Path]:
    """The files that compiled code is made of, in the order of their names.

    These are the files with a compiled function, and the files of the package from which they
    import: Numba copies helpers and constants into the compiled code.
    """
    found = set()
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if _DECORATOR.search(source):
            found.add(path)
            found.update(_imported(source, package))
    return sorted(found)


def _imported(source: str, package: Path) -> Iterator[Path]:
    for module, names in _IMPORT.findall(source):
        base = package.joinpath(*filter(None, module.split(".")))
        inside = [base / name.strip() for name in names.split(",")] if names else []
        for candidate in (base, *inside):
            for path in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if path.is_file():
                    yield path


@functools.cache
def source_stamp() -> str | None:
    """A hash of :func:`compiled_sources`, or None if a file changed after it was imported.

    In that case the code in memory is not that of the files, and must not be stored under their
    hash.
    """
    total = hashlib.sha256()
    for path in compiled_sources():
        if _changed_since_import(path):
            return None
        content = path.read_bytes()
        total.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


_seen: dict[Path, tuple[int, int]] = {}


def _changed_since_import(path: Path) -> bool:
    """Whether a file has changed since the first call of this function for it."""
    if not path.is_file():  # a function typed at a prompt
        return False
    status = path.stat()
    now = status.st_mtime_ns, status.st_size
    return _seen.setdefault(path, now) != now


class _StampedCache(caching.FunctionCache):
    """Numba's cache of one function, in Numba's folder, with our stamp beside Numba's."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = caching.IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), stamp),
        )
        # Numba opens an index only if its version is the same. One of other sources may name
        # classes that are gone, and could not be unpickled.
        self._cache_file._version = f"{self._cache_file._version} {stamp}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba would first load all that it could compile code from, which takes a second. Finished
        # code needs no more than the runtime that owns its arrays.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


class _PackageCache(caching._Cache):
    """The cache of one function, opened when it is first needed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @functools.cached_property
    def _opened(self) -> Any:
        stamp = source_stamp()
        if stamp is None or _changed_since_import(Path(self._function.__code__.co_filename)):
            return caching.NullCache()
        try:
            return _StampedCache(self._function, stamp)
        except RuntimeError:  # neither the package's folder nor the user's can be written to
            return caching.NullCache()

    def one_at_a_time(self, compile_function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Have one process compile a function, and others wait for it and take what it made.

        Functions that a function calls are compiled while it is locked. As none calls itself, no
        two processes wait for each other.
        """

        @functools.wraps(compile_function)
        def compile_alone(signature: Any) -> Any:
            with global_compiler_lock, contextlib.ExitStack() as held:
                folder = self._opened.cache_path
                if folder is not None:
                    name = f"{self._function.__module__}.{self._function.__qualname__}.lock"
                    with contextlib.suppress(OSError):  # a file system without locks
                        held.enter_context(locked(Path(folder) / name))
                return compile_function(signature)

        return compile_alone

    @property
    def is_empty(self) -> bool:
        """Whether compiled code could be kept, and none is."""
        file: Any = getattr(self._opened, "_cache_file", None)
        return file is not None and not file._load_index()

    @property
    def cache_path(self) -> str | None:
        path: str | None = self._opened.cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._opened.load_overload(sig, target_context)
        if found is None:
            _announce_compilation()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        self._opened.save_overload(sig, data)

    def enable(self) -> None:
        self._opened.enable()

    def disable(self) -> None:
        self._opened.disable()

    def flush(self) -> None:
        self._opened.flush()


@functools.cache
def _announce_compilation() -> None:
    """Say once in a process that it compiles: it takes a while."""
    logging.getLogger("hgcn").warning(
        "hgcn: compiling kernels for this machine, which happens once and takes up to a minute"
    )
