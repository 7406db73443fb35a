"""Sizes of tiles, and options of every launch.

A program works on a tile: ``TILE`` rows or edges, each with a vector of ``D`` columns, the next
power of two from the dimension on. There are as many rows as a warp has threads, because then the
compiler gives each thread the numbers of one row: formulas on numbers are computed once, not by
every thread that holds a part of the vector.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

TILE = 32
"""Rows or edges of a tile."""

WIDEST = 256
"""The largest dimension: a row must fit into the registers of a program."""


def power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(0, count - 1).bit_length()


def tile(columns: int) -> dict[str, Any]:
    """Sizes and options of a launch for vectors of so many columns.

    Products are not fused with sums: the compiler would choose which by what else it sees, and
    results would depend on its version and on the card.
    """
    width = power_of_two(columns)
    return {
        "TILE": TILE, "D": width, "num_warps": max(1, width // 64), "enable_fp_fusion": False,
    }  # fmt: skip


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
