"""A device that is not there: its tensors are on the CPU, and torch believes them elsewhere.

What fails on a GPU fails here: an operation on tensors of two devices, the array of a tensor, a
generator of another device. What a GPU would be waited for is noted.

Import this in a process of its own, as torch has one place for a device that it does not know.
"""

from __future__ import annotations

import re
import traceback
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("away")
DEVICE = torch.device("away:0")

# Their results have a size or a value that the processor has to know.
WAITS = re.compile(
    r"aten::(_local_scalar_dense|item|nonzero|masked_select|_?unique\w*|bincount|is_nonzero|equal"
    r"|repeat_interleave|_assert_scalar|allclose|isin|_coalesce|_linalg_check_errors)$"
)
INDEXED = re.compile(r"aten::(_?index|_?index_put_?|_?unsafe_index\w*|_index_put_impl_)$")

narrow = False
"""Whether the device has no float64, as those of Apple have none."""

waits: list[tuple[str, str]] = []
"""What the device would be waited for: an operation, and the line of the package that called it."""


class StandIn(Tensor):
    """A tensor of the device; ``held`` has its numbers."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> StandIn:
        made: dict[str, Any] = {"dtype": held.dtype, "device": DEVICE, "dispatch_layout": True}
        if held.layout is torch.strided:
            made |= {"strides": held.stride(), "storage_offset": held.storage_offset()}
        return Tensor._make_wrapper_subclass(cls, held.shape, **made)

    def __init__(self, held: Tensor) -> None:
        assert held.is_cpu
        if narrow and held.dtype == torch.float64:
            raise TypeError("Expected a type of numbers that the device has, got float64.")
        self.held = held

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def numpy(self, **_: Any) -> None:
        raise TypeError("Expected a tensor of the CPU for an array, got one of another device.")

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, value: StandIn) -> None:
        self.held = value.held

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _compute(function, args, kwargs or {})


def unwrapped(tree: Any) -> Any:
    """The same with tensors of the CPU, which share their memory."""
    return tree_map(lambda x: x.held if isinstance(x, StandIn) else x, tree)


def _compute(function: Any, args: Any, kwargs: Any) -> Any:
    name = function._schema.name
    if name == "prim::layout":
        return args[0].held.layout
    if name in ("aten::_to_copy", "aten::copy_"):
        return _copy(name, function, args, kwargs)
    inputs = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    for other in inputs:
        if not isinstance(other, StandIn) and other.dim():  # one number may be on the CPU
            if not (INDEXED.match(name) and other is not args[0]):
                raise RuntimeError(f"Expected tensors of one device in {name}, got two devices.")
            _note(f"{name} by numbers of the CPU")
    generator = kwargs.get("generator")
    if generator is not None and generator.device != DEVICE:
        raise RuntimeError(f"Expected a generator of the device in {name}, got one of the CPU.")
    masked = INDEXED.match(name) and any(x is not None and x.dtype == torch.bool for x in args[1])
    # How many entries there are is known of a matrix that is sparse, and to whom it is given.
    counted = name.startswith("aten::_to_sparse") and args[0].held.layout is torch.strided
    if masked or counted or (WAITS.match(name) and kwargs.get("output_size") is None):
        _note(name)
    if "device" in kwargs:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    out = function(*unwrapped(args), **unwrapped(kwargs))
    out = tree_map(lambda x: StandIn(x) if isinstance(x, Tensor) else x, out)
    return return_and_correct_aliasing(function, args, kwargs, out)


def _copy(name: str, function: Any, args: Any, kwargs: Any) -> Tensor:
    """Between the CPU and the device, or on it; one that begins later does not wait."""
    if name == "aten::copy_":
        into, of = isinstance(args[0], StandIn), isinstance(args[1], StandIn)
        later = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
    else:
        of, later = isinstance(args[0], StandIn), kwargs.get("non_blocking", False)
        asked = kwargs.get("device")
        into = of if asked is None else torch.device(asked).type == DEVICE.type
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if of and not into:
        _note("a copy to the CPU")
    elif into and not of and not later:
        _note("a copy from the CPU")
    out = function(*unwrapped(args), **kwargs)
    if name == "aten::copy_":
        return args[0]
    return StandIn(out) if into else out


def _note(what: str) -> None:
    lines = [
        f"{frame.filename.rpartition('/src/')[2]}:{frame.lineno}"
        for frame in traceback.extract_stack()
        if "/src/hgcn/" in frame.filename
    ]
    waits.append((what, lines[-1] if lines else ""))


def _made_on_cpu(operation: Any) -> Any:
    def make(*args: Any, device: Any = None, pin_memory: Any = None, **kwargs: Any) -> StandIn:
        return StandIn(operation(*args, device="cpu", **kwargs))

    return make


_aten = torch.ops.aten
_library = torch.library.Library("aten", "IMPL")
for _operation in (
    _aten.empty.memory_format, _aten.empty_strided.default,
    # Those that torch makes by resizing an empty tensor, of which a wrapper would not know.
    _aten.arange.default, _aten.arange.start, _aten.arange.start_step,
    _aten.eye.default, _aten.eye.m, _aten.linspace.default, _aten.randperm.default,
):  # fmt: skip
    _library.impl(_operation, _made_on_cpu(_operation), "PrivateUse1")
