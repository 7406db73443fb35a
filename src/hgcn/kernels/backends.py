"""The table of backends, and the choice of one for an operation.

A backend is a module with functions of the names and arguments in :mod:`hgcn.kernels.operations`.
It may leave out an operation, or return ``NotImplemented`` for shapes it does not cover: then the
next backend of the table is asked. The last one, plain torch, does everything on every device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hgcn.kernels import numba_cpu, torch_twin, triton_gpu
from hgcn.kernels.derivatives import one_set


class Backend(NamedTuple):
    """A module with operations, and the types of devices it works on; None stands for all."""

    module: ModuleType
    devices: tuple[str, ...] | None


BACKENDS = {
    "numba": Backend(numba_cpu, ("cpu",)),
    "triton": Backend(triton_gpu, ("cuda", "cpu")),  # on the CPU only if it interprets
    "torch": Backend(torch_twin, None),
}
"""Backends by name, in the order in which they are asked."""

_forced: list[str] = []


@contextmanager
def using(name: str) -> Iterator[None]:
    """Run all operations of the process on one backend and no other, within this context.

    Example:
        >>> import torch
        >>> from hgcn import kernels
        >>> v, w, c = torch.zeros(2, 3), torch.ones(2, 3), torch.tensor(1.0)
        >>> with using("torch"):
        ...     kernels.squared_distance(v, w, c).shape
        torch.Size([2])
    """
    if name not in BACKENDS:
        raise ValueError(f"Expected one of the backends {', '.join(BACKENDS)}, got {name!r}.")
    _forced.append(name)
    try:
        yield
    finally:
        _forced.pop()


def backends_of(device: str) -> list[ModuleType]:
    """The backends to ask for a type of device, in order.

    ``torch.compile`` can look into plain torch only, so there nothing else is asked.
    """
    names = ["torch"] if torch.compiler.is_compiling() else _forced[-1:] or list(BACKENDS)
    table = [BACKENDS[name] for name in names]
    return [b.module for b in table if b.devices is None or device in b.devices]


HALF = (torch.float16, torch.bfloat16)


def _single(x: Any) -> Any:
    return x.float() if isinstance(x, Tensor) and x.dtype in HALF else x


def _as(dtype: torch.dtype, result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_as(dtype, x) for x in result)
    return result.to(dtype) if dtype in HALF else result


def call(operation: str, like: Tensor, *arguments: Any, **options: Any) -> Any:
    """Run an operation on the first backend that has it for the device of the tensor ``like``.

    Tensors of half precision, as ``torch.autocast`` makes them, are computed with in float32, and
    the result has the precision of ``like`` again.
    """
    given = [_single(x) for x in arguments]
    if any(x is not y for x, y in zip(given, arguments, strict=True)):
        first, second = (*arguments, None, None)[:2]
        if isinstance(first, Tensor) and isinstance(second, Tensor) and one_set(first, second):
            given[0] = given[1] if first is second else given[1][: len(first)]
        return _as(like.dtype, call(operation, _single(like), *given, **options))
    for module in backends_of(like.device.type):
        function = getattr(module, operation, None)
        if function is not None:
            result = function(*arguments, **options)
            if result is not NotImplemented:
                return result
    raise NotImplementedError(f"No backend has `{operation}` for these arguments on {like.device}.")
