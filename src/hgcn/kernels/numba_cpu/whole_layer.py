"""A whole convolution as one autograd function: it keeps less, and takes fewer steps of Python.

Linear map, bias, attention and local aggregation, each computed as by itself. Shares and steps are
kept, and the product with a matrix of many columns; what is cheap is computed again in the backward
pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.local_aggregation import aggregate, aggregate_back
from hgcn.kernels.numba_cpu.softmax import attend, attend_back
from hgcn.kernels.numba_cpu.sums import total, total_back
from hgcn.kernels.numba_cpu.translation import shift, shift_back

if TYPE_CHECKING:
    from hgcn.kernels.csr import Neighbourhoods

WIDE = 4
"""The product of a matrix is kept if it has more than so many times the columns of the result."""


class Convolution(torch.autograd.Function):
    """``local_sum(h, h, share)`` of ``h = translate(x @ weight.T, bias)``."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        entries: Neighbourhoods | None,
        weight: Tensor,
        bias: Tensor,
        c: Tensor,
        sides: Tensor | None,
        inner: Tensor | None,
        vector: Tensor | None,
        prior: Tensor | None,
        graph: Neighbourhoods,
        slope: float,
    ) -> Tensor:
        """Keep shares and steps, and the product of a wide matrix."""
        mapped = _product(x, entries, weight)
        h = shift(mapped, bias, c)
        if sides is None or inner is None or vector is None:
            share = graph.shares(h.dtype).unsqueeze(-1)
        else:
            share = attend(h @ sides.t(), None, inner, vector, prior, graph, slope)
        out, steps = aggregate(h, h, share.squeeze(-1), c, graph, same=True, central=False)
        thin = entries is None and x.shape[1] <= WIDE * len(weight)
        kept = None if thin else mapped
        ctx.save_for_backward(x, weight, bias, c, sides, inner, vector, share, kept, *steps)
        ctx.entries, ctx.graph, ctx.slope = entries, graph, slope
        return out

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by points and weights; values of a sparse matrix and priors get none."""
        with torch.autocast("cpu", enabled=False):
            return _gradients(ctx, grad_out)


def _gradients(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
    x, weight, bias, c, sides, inner, vector, share, mapped, *steps = ctx.saved_tensors
    mapped = _product(x, ctx.entries, weight) if mapped is None else mapped
    h = shift(mapped, bias, c)
    saved = h, h, share.squeeze(-1), c, *steps
    grad_h, _, grad_share, grad_c = aggregate_back(
        saved, ctx.graph, grad_out, same=True, whole=True
    )
    by_attention: list[Tensor | None] = [None, None, None]
    if sides is not None:
        both = h @ sides.t()
        given = both, None, inner, vector, share, grad_share.unsqueeze(-1), ctx.graph, ctx.slope
        _, grad_both, _, by_inner, by_vector = attend_back(*given)
        by_attention = [grad_both.t() @ h, by_inner, by_vector]
        grad_h.addmm_(grad_both, sides)
    grad_mapped, grad_bias, more = shift_back(mapped, bias, c, grad_h)
    grad_x = grad_mapped @ weight if ctx.needs_input_grad[0] else None
    if ctx.entries is None:
        grad_weight = grad_mapped.t() @ x
    else:
        grad_weight = total_back(x, grad_mapped, ctx.entries).t()
    by_points = grad_x, None, grad_weight, grad_bias, grad_c + more
    return *by_points, *by_attention, None, None, None


def _product(x: Tensor, entries: Neighbourhoods | None, weight: Tensor) -> Tensor:
    if entries is None:
        return x @ weight.t()
    return total(weight.t(), x, entries)
