"""Sizes of tiles, and options of every launch.

A program works on a tile, ``TILE`` rows or edges with ``D`` columns of their vectors. Tiles are
small enough for the registers of the threads: those of points have a part of the columns at a time,
and those of edges, which need whole vectors, fewer edges and more warps where vectors are wide.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 32
"""Rows of a tile of points: as many as a warp has threads, so that each has the numbers of one row
(:func:`spread`); and most edges of a tile."""
ROW_BYTES = 64
"""Most bytes of a row in a tile of points. With twice as many the largest kernel would need more
registers than there are; ``tests/kernels/ptx_child.py`` counts them."""

# Products are not fused with sums: the compiler would choose which by what else it sees, and
# results would depend on its version and on the card.
OPTIONS = {"num_warps": 1, "enable_fp_fusion": False}
"""Those of kernels with one warp."""

# Triton compiles anew for numbers that are one or a multiple of 16. Those of a mini-batch change
# with each.
kernel = functools.partial(triton.jit, do_not_specialize=("rows", "count", "edges"))
"""Decorate a function that is launched; those that it calls are ``triton.jit``."""


@triton.jit
def rows_of_program(TILE: tl.constexpr):
    """The rows of this program, in 64 bits: there may be more pairs than 32 can count."""
    return tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)


@triton.jit
def spread(x, zeros):
    """The same numbers, one in each thread.

    Sums over the columns of a tile leave each number in all threads that hold a part of its row.
    A number that is loaded after the sums is in one thread, and takes to it those it is added to:
    without that, formulas would be computed up to 16 times over. ``zeros`` has TILE zeros.
    """
    return x + tl.load(zeros + tl.arange(0, x.shape[0])).to(x.dtype)


@functools.cache
def zeros_on(device: torch.device) -> Tensor:
    """What :func:`spread` adds."""
    with torch.inference_mode(False):
        return torch.zeros(TILE, dtype=torch.float64, device=device)


def power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, count - 1).bit_length()


def point_tile(columns: int, like: Tensor) -> dict[str, Any]:
    """Sizes and options of a launch for rows of so many columns, ``D`` of ``WIDTH`` at a time."""
    most = ROW_BYTES // like.element_size()
    if columns % 16:  # each entry has an address of its own then, which takes registers, too
        most //= 2
    width = min(power_of_two(columns), most)
    return {"TILE": TILE, "WIDTH": -(-columns // width) * width, "D": width, **OPTIONS}


def edge_tile(columns: int, like: Tensor) -> dict[str, Any]:
    """Sizes and options of a launch for edges with vectors of so many columns."""
    width = power_of_two(columns)
    registers = width * like.element_size() // 4
    edges = TILE if registers <= 64 else TILE // 2
    return {"TILE": edges, "D": width, **OPTIONS, "num_warps": max(1, registers // 64)}


def programs(rows: int) -> tuple[int]:
    """The grid of programs that covers all rows."""
    return ((rows + TILE - 1) // TILE,)


def whole(x: Tensor) -> Tensor:
    """The tensor, or a copy with its rows one after another."""
    return x.detach().contiguous()


def curvature_gradient(moment: Tensor, c: Tensor) -> Tensor:
    """The gradient by c (``docs/kernels.md``, section 7), without waiting for the device."""
    return (moment.sum() / (2 * c.double())).to(c.dtype)


def doubles(like: Tensor, *shape: int) -> Tensor:
    """An empty tensor of float64 on the same device."""
    return torch.empty(shape, dtype=torch.float64, device=like.device)
