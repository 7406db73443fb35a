"""The edges of a graph as rows on the device, long rows divided among programs.

A program adds up at most ``SEGMENT`` edges of a row. Programs 0 to n - 1 have the first segment of
each row; the others have the further segments of long rows, in order. How many of these there are
depends on the edges, and the processor must not wait for the device to tell: so there are as many
programs as there can be, and the last may have nothing to do.

Each program writes the sum of its segment to a row of its own, and :func:`fold` adds the further
segments of a row to its first, in order. So no sum depends on which program is faster.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels.triton_gpu.points import load_rows, store_rows
from hgcn.kernels.triton_gpu.tiles import (
    OPTIONS,
    TILE,
    kernel,
    power_of_two,
    programs,
    rows_of_program,
)

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

SEGMENT = 256
"""Most edges of a row that one program adds up."""
MOST_COLUMNS = 16
"""Most columns of a tile of sums that are added up."""


class DeviceRows(NamedTuple):
    """The edges of each node i, at the positions ``start[i]`` to ``start[i + 1]``.

    Attributes:
        start: the first position of each node, and at last the number of edges.
        other: the node at the other end of each edge.
        edge: the number of each edge in the order of the targets.
        further: for each node the number of further segments of all nodes before it.
        owner: the node of each further segment; n if there is none.
    """

    start: Tensor
    other: Tensor
    edge: Tensor
    further: Tensor
    owner: Tensor

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def segments(self) -> int:
        """Number of programs, each with a row of its own for its sum."""
        return self.size + len(self.owner)

    @property
    def layout(self) -> tuple[Tensor, Tensor, Tensor, int]:
        """What :func:`segment_of` takes."""
        return self.start, self.further, self.owner, self.size


def rows_of(key: Tensor, other: Tensor, edge: Tensor, count: int) -> DeviceRows:
    """Rows of edges that are sorted by ``key``, one of ``count`` nodes."""
    nodes = torch.arange(count + 1, device=key.device, dtype=key.dtype)
    start = torch.searchsorted(key, nodes)
    more = (start.diff() - 1).clamp_min(0) // SEGMENT
    further = torch.cat((more.new_zeros(1), more.cumsum(0)))
    most = torch.arange(len(key) // SEGMENT, device=key.device)
    owner = torch.searchsorted(further, most, right=True) - 1
    return DeviceRows(start, other, edge, further, owner)


def by_target(graph: Neighbourhoods) -> DeviceRows:
    """Rows of targets, for the forward pass."""

    def make() -> DeviceRows:
        edge = torch.arange(len(graph.source), device=graph.source.device)
        return rows_of(graph.target, graph.source, edge, graph.num_targets)

    return graph.keep("rows of targets", make)


def by_source(graph: Neighbourhoods) -> DeviceRows:
    """Rows of sources, for the backward pass."""

    def make() -> DeviceRows:
        source, edge = graph.source.sort(stable=True)
        return rows_of(source, graph.target[edge], edge, graph.num_sources)

    return graph.keep("rows of sources", make)


@triton.jit
def segment_of(start, further, owner, count, SEGMENT: tl.constexpr):
    """The row of this program, and the first and last position of its segment."""
    program = tl.program_id(0)
    if program < count:
        row = program.to(tl.int64)
        low = tl.load(start + row)
    else:
        row = tl.load(owner + (program - count))
        inside = row < count
        part = program - count - tl.load(further + row) + 1
        low = tl.load(start + row) + part * SEGMENT
        low = tl.where(inside, low, 0)
        row = tl.where(inside, row, -1)
    # Without a row, low is 0 and so is the end of the row before the first.
    high = tl.minimum(low + SEGMENT, tl.load(start + row + 1))
    return row, low, high


@kernel
def _fold(
    x, further, rows, d, LARGEST: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Add to each row of x the sums of its further segments, or take the largest of all."""
    row = rows_of_program(TILE)
    column = tl.program_id(1) * D + tl.arange(0, D)
    inside = row < rows
    first = tl.load(further + row, mask=inside, other=0)
    number = tl.load(further + row + 1, mask=inside, other=0) - first
    most = tl.max(number, 0)
    if most > 0:
        total = load_rows(x, row, rows, column, d)
        for part in range(most):
            here = (part < number)[:, None] & (column < d)[None, :]
            at = x + (rows + first + part)[:, None] * d + column[None, :]
            if LARGEST:
                total = tl.maximum(total, tl.load(at, mask=here, other=float("-inf")))
            else:
                total += tl.load(at, mask=here, other=0.0)
        store_rows(x, row, rows, column, d, total)


def fold(x: Tensor, rows: DeviceRows, *, largest: bool = False) -> Tensor:
    """Sums of rows ``[n, d]`` from those of segments ``[segments, d]``, in the same memory."""
    if len(rows.owner) and rows.size:
        width = x.shape[1]
        options = {"TILE": TILE, "D": min(power_of_two(width), MOST_COLUMNS), **OPTIONS}
        grid = (*programs(rows.size), -(-width // options["D"]))
        _fold[grid](x, rows.further, rows.size, width, LARGEST=largest, **options)
    return x[: rows.size]
