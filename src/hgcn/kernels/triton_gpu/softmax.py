"""Attention: shares of the neighbours of each node by a softmax, forward and backward.

The score of an edge is ``vector_h . leaky_relu(left_i + right_j + bias)``. The backward pass goes
over rows and then over columns; ``docs/kernels.md``, section 8, derives how the sums split. The
largest score and the sum of a long row are put together from those of its segments.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.triton_gpu.rows import SEGMENT, by_source, by_target, fold, segment_of
from hgcn.kernels.triton_gpu.tiles import OPTIONS, TILE, edge_tile, kernel, whole

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods


@triton.jit
def _units(x, node, inside, width, base, column, hidden):
    """The hidden units of one head, from column ``base`` on, of a tile of nodes."""
    here = inside[:, None] & (column < hidden)[None, :]
    at = x + node[:, None] * width + base + column[None, :]
    return tl.load(at, mask=here, other=0.0)


@kernel
def _scores(
    left, right, bias, vector, other, share, top, start, further, owner, count,
    left_width, right_width, shift, hidden,
    SLOPE: tl.constexpr, SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """The score of each edge of a segment into ``share``, and the largest of them."""
    i, low, high = segment_of(start, further, owner, count, SEGMENT)
    head, heads = tl.program_id(1), tl.num_programs(1)
    column, base = tl.arange(0, D), head * hidden
    known = column < hidden
    mine = tl.load(left + tl.maximum(i, 0) * left_width + base + column, mask=known, other=0.0)
    mine += tl.load(bias + base + column, mask=known, other=0.0)
    factor = tl.load(vector + base + column, mask=known, other=0.0)
    largest = tl.max(tl.full([TILE], float("-inf"), mine.dtype), 0)
    for first in range(low, high, TILE):
        e = first + tl.arange(0, TILE)
        inside = e < high
        j = tl.load(other + e, mask=inside, other=0).to(tl.int64)
        value = mine[None, :] + _units(right, j, inside, right_width, shift + base, column, hidden)
        unit = tl.where(value > 0.0, value, SLOPE * value)
        score = tl.sum(unit * factor[None, :], 1)
        tl.store(share + e * heads + head, score, mask=inside)
        largest = tl.maximum(largest, tl.max(tl.where(inside, score, float("-inf")), 0))
    tl.store(top + tl.program_id(0).to(tl.int64) * heads + head, largest)


@kernel
def _exponentials(
    share, prior, top, total, start, further, owner, count,
    SEGMENT: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Each score becomes its prior times its exponential; their sums over a segment."""
    i, low, high = segment_of(start, further, owner, count, SEGMENT)
    head, heads = tl.program_id(1), tl.num_programs(1)
    largest = tl.load(top + tl.maximum(i, 0) * heads + head)
    added = tl.sum(tl.zeros([TILE], tl.float64), 0)
    for first in range(low, high, TILE):
        e = first + tl.arange(0, TILE)
        inside = e < high
        score = tl.load(share + e * heads + head, mask=inside, other=0.0)
        score = tl.where(inside, score - largest, 0.0)
        value = tl.load(prior + e, mask=inside, other=0.0) * tl.exp(score)
        tl.store(share + e * heads + head, value, mask=inside)
        added += tl.sum(value.to(tl.float64), 0)
    tl.store(total + tl.program_id(0).to(tl.int64) * heads + head, added)


@kernel
def _gradients_of_rows(
    left, right, bias, other, share, grad_share, mean, grad_score, active,
    start, further, owner, count, left_width, right_width, shift, hidden,
    SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradients by the scores of a segment, and for each unit their sum where it is positive."""
    i, low, high = segment_of(start, further, owner, count, SEGMENT)
    head, heads = tl.program_id(1), tl.num_programs(1)
    column, base = tl.arange(0, D), head * hidden
    known = column < hidden
    mine = tl.load(left + tl.maximum(i, 0) * left_width + base + column, mask=known, other=0.0)
    mine += tl.load(bias + base + column, mask=known, other=0.0)
    average = tl.load(mean + tl.maximum(i, 0) * heads + head).to(mine.dtype)
    total = tl.zeros([D], mine.dtype)
    for first in range(low, high, TILE):
        e = first + tl.arange(0, TILE)
        inside = e < high
        j = tl.load(other + e, mask=inside, other=0).to(tl.int64)
        part = tl.load(share + e * heads + head, mask=inside, other=0.0)
        grad = part * (tl.load(grad_share + e * heads + head, mask=inside, other=0.0) - average)
        tl.store(grad_score + e * heads + head, grad, mask=inside)
        value = mine[None, :] + _units(right, j, inside, right_width, shift + base, column, hidden)
        total += tl.sum(tl.where(value > 0.0, grad[:, None], 0.0), 0)
    at = active + (tl.program_id(0).to(tl.int64) * heads + head) * hidden + column
    tl.store(at, total, mask=known)


@kernel
def _means(
    share, grad_share, mean, start, further, owner, count,
    SEGMENT: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Sums of shares times their gradients over a segment."""
    _, low, high = segment_of(start, further, owner, count, SEGMENT)
    head, heads = tl.program_id(1), tl.num_programs(1)
    added = tl.sum(tl.zeros([TILE], tl.float64), 0)
    for first in range(low, high, TILE):
        at = (first + tl.arange(0, TILE)) * heads + head
        inside = first + tl.arange(0, TILE) < high
        part = tl.load(share + at, mask=inside, other=0.0).to(tl.float64)
        added += tl.sum(part * tl.load(grad_share + at, mask=inside, other=0.0), 0)
    tl.store(mean + tl.program_id(0).to(tl.int64) * heads + head, added)


@kernel
def _gradients_of_columns(
    left, right, bias, other, edge, grad_score, by_unit,
    start, further, owner, count, left_width, right_width, shift, hidden,
    SLOPE: tl.constexpr, SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """For each unit of a source, the sum of gradients by scores times the slope of the unit."""
    j, low, high = segment_of(start, further, owner, count, SEGMENT)
    head, heads = tl.program_id(1), tl.num_programs(1)
    column, base = tl.arange(0, D), head * hidden
    known = column < hidden
    own = right + tl.maximum(j, 0) * right_width + shift + base + column
    mine = tl.load(own, mask=known, other=0.0) + tl.load(
        bias + base + column, mask=known, other=0.0
    )
    total = tl.zeros([D], mine.dtype)
    for first in range(low, high, TILE):
        position = first + tl.arange(0, TILE)
        inside = position < high
        i = tl.load(other + position, mask=inside, other=0).to(tl.int64)
        e = tl.load(edge + position, mask=inside, other=0).to(tl.int64)
        grad = tl.load(grad_score + e * heads + head, mask=inside, other=0.0)
        value = mine[None, :] + _units(left, i, inside, left_width, base, column, hidden)
        total += tl.sum(tl.where(value > 0.0, grad[:, None], SLOPE * grad[:, None]), 0)
    at = by_unit + (tl.program_id(0).to(tl.int64) * heads + head) * hidden + column
    tl.store(at, total, mask=known)


class Attention(torch.autograd.Function):
    """Shares of edges ``[E, heads]``; without ``right``, ``left`` has both side by side."""

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor | None,
        bias: Tensor,
        vector: Tensor,
        prior: Tensor,
        graph: Neighbourhoods,
        slope: float,
    ) -> Tensor:
        """Keep the shares; the hidden units of edges are computed again."""
        heads, hidden = vector.shape
        rows = by_target(graph)
        share = left.new_empty(len(graph.source), heads)
        if share.numel():
            ends, sizes = _sides(left, right, vector)
            grid, numbers = (rows.segments, heads), {"SEGMENT": SEGMENT, "TILE": TILE, **OPTIONS}
            top = left.new_empty(rows.segments, heads)
            total = torch.empty_like(top, dtype=torch.float64)
            _scores[grid](
                *ends, whole(bias), whole(vector), rows.other, share, top, *rows.layout,
                *sizes, SLOPE=slope, SEGMENT=SEGMENT, **edge_tile(hidden, left),
            )  # fmt: skip
            top = fold(top, rows, largest=True)
            _exponentials[grid](share, whole(prior), top, total, *rows.layout, **numbers)
            summed = fold(total, rows)
            # Where all priors of a row are zero, so are the shares.
            share /= torch.where(summed > 0, summed, 1.0).to(share.dtype)[graph.target]
        ctx.save_for_backward(left, right, bias, vector, prior, share)
        ctx.graph, ctx.slope = graph, slope
        return share

    @staticmethod
    @once
    def backward(ctx: Any, grad_share: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by left, right, bias and vector, and by the prior if it is asked for."""
        left, right, bias, vector, prior, share = ctx.saved_tensors
        heads, hidden = vector.shape
        rows, columns = by_target(ctx.graph), by_source(ctx.graph)
        (x, y), sizes = _sides(left, right, vector)
        grad_share, grad_score = whole(grad_share), torch.empty_like(share)
        active = left.new_zeros(rows.segments, heads * hidden)
        by_unit = left.new_zeros(columns.segments, heads * hidden)
        options = {"SEGMENT": SEGMENT, **edge_tile(hidden, left)}
        numbers = {"SEGMENT": SEGMENT, "TILE": TILE, **OPTIONS}
        if share.numel():
            grid = rows.segments, heads
            mean = torch.empty(grid, dtype=torch.float64, device=left.device)
            _means[grid](share, grad_share, mean, *rows.layout, **numbers)
            _gradients_of_rows[grid](
                x, y, whole(bias), rows.other, share, grad_share, fold(mean, rows), grad_score,
                active, *rows.layout, *sizes, **options,
            )  # fmt: skip
            _gradients_of_columns[columns.segments, heads](
                x, y, whole(bias), columns.other, columns.edge, grad_score, by_unit,
                *columns.layout, *sizes, SLOPE=ctx.slope, **options,
            )  # fmt: skip
        # The gradients of a row add up to zero, and so do their terms with the slope.
        of_left = (1 - ctx.slope) * fold(active, rows)
        of_right = fold(by_unit, columns)
        size = heads * hidden
        by_left, by_right = of_left * vector.flatten(), of_right * vector.flatten()
        units = x[:, :size] + bias, y[:, sizes[2] : sizes[2] + size]
        by_vector = (of_left * units[0]).sum(0) + (of_right * units[1]).sum(0)
        grad_prior = None
        if ctx.needs_input_grad[4]:
            grad_prior = torch.where(prior > 0, grad_score.sum(-1) / prior, 0.0)
        sides = (torch.cat((by_left, by_right), 1), None) if right is None else (by_left, by_right)
        return *sides, by_left.sum(0), by_vector.view_as(vector), grad_prior, None, None


def _sides(
    left: Tensor, right: Tensor | None, vector: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[int, int, int, int]]:
    """The matrices of both ends; their widths, the first column of the sources, and hidden."""
    left = whole(left)
    shift = vector.numel() if right is None else 0
    right = left if right is None else whole(right)
    return (left, right), (left.shape[1], right.shape[1], shift, vector.shape[1])
