"""Rows of a matrix by number, and the sum of their gradients in a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hgcn.compiled import compiled, in_chunks
from hgcn.kernels.derivatives import once
from hgcn.kernels.numba_cpu.tensors import array
from hgcn.kernels.rows import Floats, Rows, sorted_rows


@compiled(error_model="numpy", nogil=True)
def sum_by_row(first_chunk: int, last_chunk: int, grad: Floats, rows: Rows, out: Floats) -> None:
    """out_i = sum of the rows of ``grad`` that belong to row i, in the order they have there."""
    start, taken, bounds = rows.start, rows.edge, rows.bounds
    d = grad.shape[1]
    for chunk in range(first_chunk, last_chunk):
        total = np.empty(d, grad.dtype)
        for i in range(bounds[chunk], bounds[chunk + 1]):
            total[:] = 0
            for position in range(start[i], start[i + 1]):
                for k in range(d):
                    total[k] += grad[taken[position], k]
            for k in range(d):
                out[i, k] = total[k]


class GatherRows(torch.autograd.Function):
    """``z[ids]`` for a matrix z and a list of row numbers.

    A row may be taken many times, and its gradients are added one after the other, in the order of
    the list. torch's own sum (``index_put_`` with ``accumulate``) adds them in the order in which
    its threads arrive, which is another one each time.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, ids: Tensor) -> Tensor:
        """Keep the row numbers and the shape of z."""
        ctx.save_for_backward(ids)
        ctx.shape = z.shape
        return z.index_select(0, ids)

    @staticmethod
    @once
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        """Each row of the gradient added to the row it was taken from."""
        (ids,) = ctx.saved_tensors
        numbers = array(ids)
        out = grad_out.new_empty(ctx.shape)
        rows = sorted_rows(numbers, numbers, len(out))
        in_chunks(sum_by_row, len(rows.bounds) - 1, array(grad_out), rows, out.numpy())
        return out, None
