"""Modules of curved space under ``torch.autocast``: computed in the precision of their weights."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
T = TypeVar("T")


def full_precision(forward: Callable[P, T]) -> Callable[P, T]:
    """Decorate a forward pass that ``torch.autocast`` must not compute in half precision.

    Three digits are too few where lengths are exponents. Half-precision inputs, which layers before
    this one return under autocast, are taken as float32; the result is float32.
    """

    @functools.wraps(forward)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        first: Any = args[1] if len(args) > 1 else next(iter(kwargs.values()))
        # The compiler of torch 2.6 cannot read `tuple | list`.
        if isinstance(first, (tuple, list)):
            first = first[1] if first[0] is None else first[0]
        device = first.device.type
        if not torch.is_autocast_enabled(device):
            return forward(*args, **kwargs)
        given: Any = [_single(x) for x in args]
        named: Any = {name: _single(x) for name, x in kwargs.items()}
        with torch.autocast(device, enabled=False):
            return forward(*given, **named)

    return checked


def _single(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)(map(_single, x))
    if isinstance(x, Tensor) and x.dtype in (torch.float16, torch.bfloat16):
        return x.float()
    return x
