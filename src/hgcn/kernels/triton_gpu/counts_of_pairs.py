"""Counts of what two nodes have in common: shared neighbours, short paths, their distance.

The same numbers as those of ``hgcn.kernels.numba_cpu.counts_of_pairs``, with the same bounds of
work and the same samples of long rows. A program has one pair; its threads look at neighbours side
by side, each by a binary search in the sorted row of the other node. The search for the distance
has a list of nodes on either side, which ``MOST_REACHED`` bounds.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from hgcn.kernels import rows as host_rows
from hgcn.kernels.numba_cpu.counts_of_pairs import MOST_PATHS, MOST_REACHED, MOST_SHARED
from hgcn.kernels.triton_gpu.rows import by_target
from hgcn.kernels.triton_gpu.sums import sum_over_rows
from hgcn.kernels.triton_gpu.tiles import OPTIONS, TILE, kernel, whole

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

FARTHEST = tl.constexpr(host_rows.FARTHEST)
SEARCHES = 4096
"""Programs that search for distances at a time, each with its own two lists of nodes."""


@triton.jit
def _draw(i, j):
    """A number in 0..1 that looks random and depends on an unordered pair alone."""
    x = tl.minimum(i, j).to(tl.uint64) * 0x9E3779B97F4A7C15 + tl.maximum(i, j).to(tl.uint64)
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    x = x ^ (x >> 31)
    return (x >> 11).to(tl.int64).to(tl.float64) * (1.0 / 9007199254740992.0)


@triton.jit
def _find(other, low, high, v):
    """The positions of nodes v among the sorted neighbours other[low:high], -1 if not there."""
    base = v * 0 + low
    length = high - low
    while length > 1:
        half = length >> 1
        base = tl.where(tl.load(other + base + half - 1) < v, base + half, base)
        length -= half
    there = base < high
    here = tl.load(other + base, mask=there, other=-1).to(tl.int64)
    return tl.where(there & (here == v), base, -1)


@triton.jit
def _pair(pairs, count, m, start):
    """The two nodes of a pair, the one with fewer neighbours first, and whether they changed."""
    i = tl.load(pairs + m).to(tl.int64)
    j = tl.load(pairs + count + m).to(tl.int64)
    width_i = tl.load(start + i + 1) - tl.load(start + i)
    width_j = tl.load(start + j + 1) - tl.load(start + j)
    swapped = width_i > width_j
    return tl.where(swapped, j, i), tl.where(swapped, i, j), swapped


@triton.jit
def _number(first, stride, width):
    """How many of first, first + stride, ... are below ``width``, however they are rounded."""
    number = tl.maximum(tl.ceil((width - first) / stride), 0.0)
    number -= tl.where(first + (number - 1.0) * stride < width, 0.0, 1.0)
    return tl.maximum(number, 0.0).to(tl.int64)


@triton.jit
def _samples(width, most, draw):
    """Every how many of ``width`` things are taken, from where on, and how many that are."""
    stride = tl.maximum(1.0, width.to(tl.float64) / most)
    first = tl.where(stride > 1.0, draw * stride, 0.0)
    return stride, first, _number(first, stride, width.to(tl.float64))


@kernel
def _count(
    pairs, count, start, other, weight, strength, amount, root, direction, out,
    MOST_SHARED: tl.constexpr, MOST_PATHS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """All columns of a pair but a distance beyond three."""
    m = tl.program_id(0).to(tl.int64)
    i, j, swapped = _pair(pairs, count, m, start)
    lane = tl.arange(0, TILE)
    low_i = tl.load(start + i)
    low_j, high_j = tl.load(start + j), tl.load(start + j + 1)
    thin, first, taken = _samples(tl.load(start + i + 1) - low_i, MOST_SHARED, _draw(i, j))

    zero = tl.zeros([TILE], tl.float64)
    common, adamic, resources, through = zero, zero, zero, zero
    back, met, split, ways = zero, zero, zero, zero
    for block in range(0, taken, TILE):
        inside = block + lane < taken
        e = low_i + (first + (block + lane).to(tl.float64) * thin).to(tl.int64)
        u = tl.load(other + e, mask=inside, other=0).to(tl.int64)
        width = tl.load(start + u + 1, mask=inside, other=0) - tl.load(
            start + u, mask=inside, other=0
        )
        ways += width.to(tl.float64)
        place = _find(other, low_j, high_j, u)
        hit = inside & (place >= 0) & (u != i) & (u != j)
        common += tl.where(hit, 1.0, 0.0)
        adamic += tl.load(amount + u, mask=hit, other=0.0)
        both = tl.load(weight + e, mask=hit, other=0.0)
        both += tl.load(weight + place, mask=hit, other=0.0)
        resources += both / (2.0 * tl.load(strength + u, mask=hit, other=1.0))
        one = tl.load(direction + e, mask=hit, other=0).to(tl.int32)
        two = tl.load(direction + place, mask=hit, other=0).to(tl.int32)
        through += ((one & 1) * (two >> 1)).to(tl.float64)
        back += ((one >> 1) * (two & 1)).to(tl.float64)
        met += (one & two & 1).to(tl.float64)
        split += ((one & two) >> 1).to(tl.float64)

    total = tl.sum(ways, 0)
    stride = tl.maximum(1.0, total / MOST_PATHS)
    offset = tl.where(stride > 1.0, _draw(i + 1, j + 1) * stride, 0.0)
    paths, normalised = zero, zero
    for number in range(taken):
        u = tl.load(other + low_i + (first + number * thin).to(tl.int64))
        u = u.to(tl.int64)
        low_u = tl.load(start + u)
        width = (tl.load(start + u + 1) - low_u).to(tl.float64)
        looks = _number(offset, stride, width)
        scale = tl.load(root + u)
        if u != j:
            for block in range(0, looks, TILE):
                inside = block + lane < looks
                at = low_u + (offset + (block + lane).to(tl.float64) * stride).to(tl.int64)
                v = tl.load(other + at, mask=inside, other=0).to(tl.int64)
                hit = inside & (v != i) & (_find(other, low_j, high_j, v) >= 0)
                paths += tl.where(hit, 1.0, 0.0)
                normalised += scale * tl.load(root + v, mask=hit, other=0.0)
        offset += looks.to(tl.float64) * stride - width

    row = out + 10 * m
    shared, long = thin * tl.sum(common, 0), thin * stride * tl.sum(paths, 0)
    forth, other_way = thin * tl.sum(through, 0), thin * tl.sum(back, 0)
    tl.store(row, shared)
    tl.store(row + 1, thin * tl.sum(adamic, 0))
    tl.store(row + 2, thin * tl.sum(resources, 0))
    tl.store(row + 3, long)
    tl.store(row + 4, thin * stride * tl.sum(normalised, 0))
    tl.store(row + 5, tl.where(shared > 0.0, 2.0, tl.where(long > 0.0, 3.0, 0.0)))
    tl.store(row + 6, tl.where(swapped, other_way, forth))
    tl.store(row + 7, tl.where(swapped, forth, other_way))
    tl.store(row + 8, thin * tl.sum(met, 0))
    tl.store(row + 9, thin * tl.sum(split, 0))


@triton.jit
def _edges_of(queue, low, high, start, TILE: tl.constexpr):
    """Number of edges of the nodes queue[low:high]."""
    total = tl.zeros([TILE], tl.int64)
    for block in range(low, high, TILE):
        at = block + tl.arange(0, TILE)
        node = tl.load(queue + at, mask=at < high, other=0)
        width = tl.load(start + node + 1) - tl.load(start + node)
        total += tl.where(at < high, width, 0)
    return tl.sum(total, 0)


@triton.jit
def _among(v, queue, high, TILE: tl.constexpr):
    """Which of the nodes v are among queue[0:high]."""
    found = tl.zeros([TILE], tl.int32)
    for block in range(0, high, TILE):
        at = block + tl.arange(0, TILE)
        node = tl.load(queue + at, mask=at < high, other=-1)
        found = tl.maximum(found, tl.max((v[:, None] == node[None, :]).to(tl.int32), 1))
    return found > 0


@triton.jit
def _reach(
    mine, theirs, own_end, far_end, low, high, far_high, start, other, TILE: tl.constexpr
):  # fmt: skip
    """Add the neighbours of mine[low:high] to the list; whether one is on the other side."""
    meeting = low * 0
    last = high
    for at in range(low, high):
        u = tl.load(mine + at)
        low_u, high_u = tl.load(start + u), tl.load(start + u + 1)
        for block in range(low_u, high_u, TILE):
            e = block + tl.arange(0, TILE)
            inside = e < high_u
            v = tl.load(other + e, mask=inside, other=0).to(tl.int64)
            inside = inside & ((u != own_end) | (v != far_end))  # not the edge of the pair itself
            meets = inside & _among(v, theirs, far_high, TILE)
            meeting = tl.maximum(meeting, tl.max(meets.to(tl.int64), 0))
            new = (inside & (_among(v, mine, last, TILE) == 0)).to(tl.int64)
            tl.store(mine + last + tl.cumsum(new, 0) - 1, v, mask=new > 0)
            tl.debug_barrier()  # other threads of the program read what was written
            last += tl.sum(new, 0)
    return meeting, last


@kernel
def _search(
    pairs, count, start, other, out, queues,
    MOST_REACHED: tl.constexpr, SIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Distances beyond three, searched from both ends at once; 0 if none is found."""
    program = tl.program_id(0).to(tl.int64)
    near = queues + 2 * SIZE * program
    far = near + SIZE
    for m in range(program, count, tl.num_programs(0)):
        row = out + 10 * m
        if tl.load(row + 5) == 0.0:
            i, j, _ = _pair(pairs, count, m, start)
            tl.store(near, i)
            tl.store(far, j)
            tl.debug_barrier()
            low_i, high_i, low_j, high_j = i * 0, i * 0 + 1, i * 0, i * 0 + 1
            looked, length, found, going = i * 0, i * 0, i * 0, i * 0 + 1
            while going > 0:
                cost_i = _edges_of(near, low_i, high_i, start, TILE)
                cost_j = _edges_of(far, low_j, high_j, start, TILE)
                cost = tl.minimum(cost_i, cost_j)
                looked += cost
                length += 1
                if (cost == 0) | (looked > MOST_REACHED):
                    going = going * 0
                elif cost_i <= cost_j:
                    meeting, last = _reach(
                        near, far, i, j, low_i, high_i, high_j, start, other, TILE
                    )
                    low_i, high_i = high_i, last
                    found = meeting * length
                    going = 1 - meeting
                else:
                    meeting, last = _reach(
                        far, near, j, i, low_j, high_j, high_i, start, other, TILE
                    )
                    low_j, high_j = high_j, last
                    found = meeting * length
                    going = 1 - meeting
                going = tl.where(length < FARTHEST, going, 0)
            tl.store(row + 5, found.to(tl.float64))


def counts(pairs: Tensor, weight: Tensor, direction: Tensor, graph: Neighbourhoods) -> Tensor:
    """The counts of pairs ``[2, M]`` as a tensor ``[M, 10]`` of float64."""
    count = pairs.shape[1]
    out = weight.new_empty(count, 10, dtype=torch.float64)
    if not count:
        return out
    rows, weight, pairs = by_target(graph), whole(weight).double(), whole(pairs)
    degree = rows.start.diff().double()
    strength = sum_over_rows(weight.new_ones(graph.num_sources, 1), weight, rows)[:, 0]
    strength = strength.clamp_min(torch.finfo(torch.float64).tiny).contiguous()
    amount, root = degree.clamp_min(2).log().reciprocal(), degree.clamp_min(1).rsqrt()
    options = {"TILE": TILE, **OPTIONS}
    _count[count,](
        pairs, count, rows.start, rows.other, weight, strength, amount, root, whole(direction),
        out, MOST_SHARED=MOST_SHARED, MOST_PATHS=MOST_PATHS, **options,
    )  # fmt: skip
    searches, size = min(count, SEARCHES), MOST_REACHED + 1
    queues = torch.empty(searches, 2, size, dtype=torch.int64, device=pairs.device)
    _search[searches,](
        pairs, count, rows.start, rows.other, out, queues,
        MOST_REACHED=MOST_REACHED, SIZE=size, **options,
    )  # fmt: skip
    return out
