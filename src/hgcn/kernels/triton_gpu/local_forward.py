"""The paper's local aggregation: each point is translated by a weighted sum of local logarithms.

The logarithm of v_j at v_i is ``kappa (along u_i + sinh(rho_j) (u_j - u_i)) / sqrt(c)``, with
``along = sinh(rho_j - rho_i) - 2 s sinh(rho_j) (cosh(rho_i) - 1)``. See ``docs/kernels.md``,
section 4. The numbers of edges have the type of the tensors: none is beyond e^84.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import triton.language as tl

from hgcn.kernels.triton_gpu.points import decay_and_sinh
from hgcn.kernels.triton_gpu.rows import segment_of
from hgcn.kernels.triton_gpu.scalars import kappa_of
from hgcn.kernels.triton_gpu.tiles import kernel


@kernel
def local_steps(
    target_u, target_p, source_u, source_p, weight, other, step,
    start, further, owner, count, d,
    SEGMENT: tl.constexpr, TILE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """step_program = sum over a segment of weighted logarithms, in units of the curvature radius.

    Of a self-loop all of it is exactly zero.
    """
    i, low, high = segment_of(start, further, owner, count, SEGMENT)
    column = tl.arange(0, D)
    mine = tl.maximum(i, 0)
    u_i = tl.load(target_u + mine * d + column, mask=column < d, other=0.0)
    p_i = tl.load(target_p + mine)
    f_i, sinh_i = decay_and_sinh(p_i)
    half_i = p_i * (1.0 + f_i)  # 2 sinh(rho_i/2)
    total = tl.zeros([D], u_i.dtype)
    total_along = p_i * 0.0
    for first in range(low, high, TILE):
        e = first + tl.arange(0, TILE)
        inside = e < high
        j = tl.load(other + e, mask=inside, other=0).to(tl.int64)
        w = tl.load(weight + e, mask=inside, other=0.0)
        here = inside[:, None] & (column < d)[None, :]
        u_j = tl.load(source_u + j[:, None] * d + column[None, :], mask=here, other=0.0)
        difference = u_j - u_i[None, :]
        s = 0.25 * tl.sum(difference * difference, 1)
        # Loaded after the sums, see tiles.spread.
        p_j = tl.load(source_p + j, mask=inside, other=0.0)
        f_j, sinh_j = decay_and_sinh(p_j)
        sinh_half_gap = 0.5 * (p_j - p_i) * (f_i + f_j)
        cosh_half_gap = 0.5 * ((1.0 + p_j) * f_i + (1.0 + p_i) * f_j)
        sinh_gap = 2.0 * sinh_half_gap * cosh_half_gap
        w_kappa = w * kappa_of(sinh_half_gap * sinh_half_gap + sinh_i * sinh_j * s)
        total_along += tl.sum(w_kappa * (sinh_gap - s * sinh_j * half_i * half_i), 0)
        total += tl.sum((w_kappa * sinh_j)[:, None] * difference, 0)
    at = step + tl.program_id(0).to(tl.int64) * d + column
    tl.store(at, total + total_along * u_i, mask=column < d)
